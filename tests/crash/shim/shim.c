/* Preloaded into the program of the crash lab: counts the calls that change its files or leave by its sockets, writes down
 * their order, and at ordered ones dies (before, halfway, after), fails (ENOSPC, EIO), or only pretends to flush.
 * Told per child by lab_shim_begin(); until then, and in every other process, it does nothing. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

static char folder[512];                   /* of it are watched: itself (as "."), sdelka*, logs/... */
static int trace = -1, count, at, times;   /* the call (of those that are wanted) at which it happens, and how often in a row */
static char how[16], wanted[64];           /* what happens; and to lines of the trace that begin how, "" for all */
static pthread_mutex_t turn = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

#define REAL(name, back, ...) static back (*real)(__VA_ARGS__); if (!real) real = (back (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

void lab_shim_mark(const char *text) {
    char line[700];
    if (trace < 0) return;
    int size = snprintf(line, sizeof line, "mark %.590s\n", text);
    pthread_mutex_lock(&turn);
    syscall(SYS_write, trace, line, size);
    pthread_mutex_unlock(&turn);
}

/* From the next call that is wanted on, the `at_`-th and `times_` - 1 more are troubled; at_ 0 for none. */
void lab_shim_order(const char *how_, const char *wanted_, int at_, int times_) {
    pthread_mutex_lock(&turn);
    snprintf(how, sizeof how, "%s", how_);
    snprintf(wanted, sizeof wanted, "%s", wanted_);
    count = 0, at = at_, times = times_;
    pthread_mutex_unlock(&turn);
}

void lab_shim_begin(const char *folder_, const char *trace_) {
    snprintf(folder, sizeof folder, "%s", folder_);
    trace = syscall(SYS_openat, AT_FDCWD, trace_, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* The name within the folder, or none. */
static const char *watched(const char *path) {
    size_t size = strlen(folder);
    if (trace < 0 || strncmp(path, folder, size)) return NULL;
    if (!path[size]) return ".";
    return !strncmp(path + size, "/sdelka", 7) || !strncmp(path + size, "/logs/", 6) ? path + size + 1 : NULL;
}

static const char *watched_fd(int fd, char *path, int size) {
    char link[40];
    if (trace < 0 || fd == trace) return NULL;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    int length = readlink(link, path, size - 1);
    if (length < 0) return NULL;
    path[length] = 0;
    return watched(path);
}

static void die(void) { for (;;) { kill(getpid(), SIGKILL); pause(); } }

/* One line of the trace, and what is to happen at it: 0, 'b', 'h', 'a', 'n' (no space), 'e' (EIO), 's' (skip the flush). */
static int met(const char *op, int fd, const char *what, long offset, long length) {
    char line[700];
    int size = snprintf(line, sizeof line, "%s %s %ld %ld %d", op, what, offset, length, fd), due = 0;
    if (at && (!wanted[0] || !strncmp(line, wanted, strlen(wanted)))) {
        count++;
        if (count >= at && count < at + times) due = how[0];
    }
    size += snprintf(line + size, sizeof line - size, " %c\n", due ? due : '-');
    syscall(SYS_write, trace, line, size);
    if (due == 'b') die();
    return due;
}

static int fails(int due) {
    if (due == 'n') errno = ENOSPC;
    else if (due == 'e') errno = EIO;
    return due == 'n' || due == 'e';
}

/* `full` and `half` carry the call out, wholly or in part. */
#define TROUBLED(result, op, fd, what, offset, length, full, half) \
    pthread_mutex_lock(&turn); \
    int due = met(op, fd, what, offset, length); \
    result = -1; \
    if (due == 'h') { half; die(); } \
    if (!fails(due)) { result = due == 's' ? 0 : (full); if (due == 'a') die(); } \
    int kept = errno; pthread_mutex_unlock(&turn); errno = kept; \
    return result

ssize_t write(int fd, const void *bytes, size_t size) {
    REAL("write", ssize_t, int, const void *, size_t);
    char path[512]; ssize_t done;
    const char *name = watched_fd(fd, path, sizeof path);
    if (!name) return real(fd, bytes, size);
    TROUBLED(done, "write", fd, name, -1, (long)size, real(fd, bytes, size), (void)!real(fd, bytes, size / 2));
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t place) {
    REAL("pwrite64", ssize_t, int, const void *, size_t, off64_t);
    char path[512]; ssize_t done;
    const char *name = watched_fd(fd, path, sizeof path);
    if (!name) return real(fd, bytes, size, place);
    TROUBLED(done, "write", fd, name, place, (long)size, real(fd, bytes, size, place), (void)!real(fd, bytes, size / 2, place));
}
ssize_t pwrite(int fd, const void *bytes, size_t size, off_t place) { return pwrite64(fd, bytes, size, place); }

int fsync(int fd) {
    REAL("fsync", int, int);
    char path[512]; int done;
    const char *name = watched_fd(fd, path, sizeof path);
    if (!name) return real(fd);
    TROUBLED(done, "flush", fd, name, 0, 0, real(fd), (void)0);
}
int fdatasync(int fd) {
    REAL("fdatasync", int, int);
    char path[512]; int done;
    const char *name = watched_fd(fd, path, sizeof path);
    if (!name) return real(fd);
    TROUBLED(done, "flush", fd, name, 0, 0, real(fd), (void)0);
}

int ftruncate64(int fd, off64_t size) {
    REAL("ftruncate64", int, int, off64_t);
    char path[512]; int done;
    const char *name = watched_fd(fd, path, sizeof path);
    if (!name) return real(fd, size);
    TROUBLED(done, "truncate", fd, name, size, 0, real(fd, size), (void)0);
}
int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

int rename(const char *from, const char *to) {
    REAL("rename", int, const char *, const char *);
    int done;
    const char *name = watched(from);
    if (!name) return real(from, to);
    TROUBLED(done, "rename", -1, name, 0, 0, real(from, to), (void)0);
}

int unlink(const char *path) {
    REAL("unlink", int, const char *);
    int done;
    const char *name = watched(path);
    if (!name) return real(path);
    TROUBLED(done, "unlink", -1, name, 0, 0, real(path), (void)0);
}

int close(int fd) {
    REAL("close", int, int);
    char path[512], line[600];
    const char *name = watched_fd(fd, path, sizeof path);
    if (name) {
        int size = snprintf(line, sizeof line, "close %s 0 0 %d -\n", name, fd);
        syscall(SYS_write, trace, line, size);
    }
    return real(fd);
}

/* A request: its first line stands in the trace; later parts are "more". */
ssize_t send(int fd, const void *bytes, size_t size, int flags) {
    REAL("send", ssize_t, int, const void *, size_t, int);
    if (trace < 0 || size < 2) return real(fd, bytes, size, flags);
    char what[200] = "more"; ssize_t done;
    const char *text = bytes;
    if (!strncmp(text, "POST /", size < 6 ? size : 6)) {
        size_t end = 5;
        while (end < size && end < 180 && text[end] != ' ') end++;
        snprintf(what, sizeof what, "%.*s", (int)(end - 5), text + 5);
    }
    TROUBLED(done, "send", fd, what, 0, (long)size, real(fd, bytes, size, flags), (void)!real(fd, bytes, size / 2, flags));
}
