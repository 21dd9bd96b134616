// The chart of a definition or a run. It holds no document: each deed is told to the server, which changes the text.
import { Background, Handle, MiniMap, Position, VueFlow, graphlib, layout, useVueFlow } from "sdelka-canvas";
import { computed, nextTick, onBeforeUnmount, onMounted, ref, watch } from "vue";

const WIDTH = 240, HEAD = 54, ROW = 24, FEW = 80, NARROW = 700, FAR = 3000, READABLE = 0.6;
const ICONS = { step: "widgets", question: "help_outline", choice: "call_split", end: "flag", effect: "bolt", failure: "error_outline", store: "inventory_2" };
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const hasRows = (box) => box.ports.length > 1 || Boolean(box.ports[0]?.label);
const measure = (box) => HEAD + (hasRows(box) ? box.ports.length * ROW : 0) + (box.mark ? ROW : 0);
let made = 0;

// Of many boxes one line into each gives the places: with all that lead far, laying them out would take minutes.
function thin(boxes, lines) {
  const rank = Object.fromEntries(boxes.map((box, number) => [box.id, number])), into = {};
  for (const line of lines) if (rank[line.source] < rank[line.target]) (into[line.target] ??= []).push(line);
  return Object.values(into).map((some) => some.reduce((best, line) => (rank[line.source] > rank[best.source] ? line : best)));
}

function arrange(boxes, all, isTall) {
  const lines = boxes.length > FEW ? thin(boxes, all) : all;
  const graph = new graphlib.Graph();
  graph.setGraph({ rankdir: isTall ? "TB" : "LR", nodesep: isTall ? 40 : 26, ranksep: isTall ? 56 : 84, ranker: boxes.length > FEW ? "longest-path" : "network-simplex" });
  for (const box of boxes) graph.setNode(box.id, { width: WIDTH, height: measure(box) });
  for (const line of lines) {
    const weight = (graph.edge(line.source, line.target)?.weight ?? 0) + (line.way === "usual" ? 3 : 1);
    if (line.source !== line.target) graph.setEdge(line.source, line.target, { weight });
  }
  layout(graph);
  return Object.fromEntries(boxes.map((box) => {
    const { x, y } = graph.node(box.id);
    return [box.id, { x: x - WIDTH / 2, y: y - measure(box) / 2 }];
  }));
}

export default {
  components: { Background, Handle, MiniMap, VueFlow },
  props: { boxes: Array, lines: Array, types: Array, words: Object, code: Number, readOnly: Boolean },
  emits: ["deed", "choose"],
  setup(props, { emit }) {
    const name = `canvas${++made}`, flow = useVueFlow(name);
    const root = ref(null), field = ref(null), nodes = ref([]), edges = ref([]), menu = ref(null), sought = ref(""), at = ref(0), chosen = ref("");
    const isTall = ref(window.innerWidth < NARROW), isLarge = computed(() => (props.boxes ?? []).length > FEW);
    const moved = {};
    let places = {}, drawn = "", known = new Set(), from = null, isConnected = false, isNew = false, looker = null, isFitted = false, isReady = false;

    const find = (id) => nodes.value.find((node) => node.id === id);
    const list = () => flow.getSelectedNodes.value;

    const begin = () => nextTick(() => fit(false));

    function draw() {
      const boxes = props.boxes ?? [], lines = props.lines ?? [];
      const shape = JSON.stringify([isTall.value, boxes.map((box) => [box.id, measure(box)]), lines.map((line) => [line.source, line.target, line.way])]);
      if (shape !== drawn) places = arrange(boxes, lines, isTall.value);
      drawn = shape;
      const titles = Object.fromEntries(boxes.map((box) => [box.id, box.title])), hints = {};
      for (const line of lines) if (isFar(line)) hints[line.source + line.port] = ` → ${titles[line.target]}`;
      nodes.value = boxes.map((box) => ({
        id: box.id, type: "box", position: moved[box.id] ?? places[box.id], data: { ...box, hints }, selected: box.id === chosen.value, ariaLabel: box.spoken,
        width: WIDTH, height: measure(box), connectable: !props.readOnly,
      }));
      edges.value = lines.map((line) => ({
        id: line.id, source: line.source, sourceHandle: line.port, target: line.target, targetHandle: "in", label: line.label, ariaLabel: line.spoken,
        type: isBack(line) ? "smoothstep" : "default", class: `line-${line.way}${line.isOwn ? "" : " line-implied"}`, data: line, markerEnd: "arrowclosed", hidden: isAway(line),
        updatable: line.isOwn && !props.readOnly ? "target" : false, labelBgPadding: [6, 3], labelBgBorderRadius: 5,
      }));
      const left = boxes.filter((box) => known.has(box.id)).length;
      if (!isFitted || left * 2 < Math.max(known.size, boxes.length)) begin();  // another chart: its beginning is shown
      known = new Set(boxes.map((box) => box.id));
    }
    // Hundreds of lines across a large chart hide it: those that lead far are drawn for the chosen box alone, and their ports name the target.
    const isFar = ({ source, target }) =>
      isLarge.value && Math.abs(places[source].x - places[target].x) + Math.abs(places[source].y - places[target].y) > FAR;
    const isAway = (line) => isFar(line) && ![line.source, line.target].includes(chosen.value);
    const isBack = ({ source, target }) => (isTall.value ? places[target].y <= places[source].y : places[target].x <= places[source].x);
    watch(() => [props.boxes, props.lines, props.readOnly], draw, { immediate: true });
    function mark(id) {
      chosen.value = id;
      for (const node of nodes.value) node.selected = node.id === id;
      if (isLarge.value) for (const edge of edges.value) edge.hidden = isAway(edge.data);
    }

    function fit(isWhole) {
      const area = root.value?.getBoundingClientRect();
      if (!isReady || !area?.width || !area.height || !nodes.value.length) return;
      isFitted = true;
      const xs = nodes.value.map((node) => node.position.x), ys = nodes.value.map((node) => node.position.y);
      const left = Math.min(...xs), top = Math.min(...ys), right = Math.max(...xs) + WIDTH + 30;
      const bottom = Math.max(...nodes.value.map((node) => node.position.y + measure(node.data)));
      const head = props.readOnly ? 16 : 64, zoom = Math.min(1, (area.width - 40) / (right - left), (area.height - head - 70) / (bottom - top));
      if (isWhole || zoom >= READABLE) {
        const x = (area.width - (left + right) * zoom) / 2, y = head + (area.height - head - 70) / 2 - ((top + bottom) / 2) * zoom;
        flow.setViewport({ zoom, x, y });
        return;
      }
      const first = nodes.value[0], near = isTall.value ? Math.min(1, (area.width - 40) / (WIDTH + 40)) : 0.8;  // readable, instead of as dust
      const y = isTall.value ? head + 10 - first.position.y * near : area.height / 2 - (first.position.y + 40) * near;
      const x = isTall.value ? area.width / 2 - (first.position.x + WIDTH / 2) * near : 24 - first.position.x * near;
      flow.setViewport({ zoom: near, x, y });
    }
    function reveal(id) {
      const node = find(id), area = root.value?.getBoundingClientRect(), { x, y, zoom } = flow.viewport.value;
      if (!node || !area?.width) return;
      const left = node.position.x * zoom + x, top = node.position.y * zoom + y, high = measure(node.data);
      const isSeen = left > 0 && top > 50 && left + WIDTH * zoom < area.width && top + high * zoom < area.height - 50;
      if (!isSeen) flow.setCenter(node.position.x + WIDTH / 2, node.position.y + high / 2, { zoom: Math.max(zoom, READABLE) });
    }
    const focus = (id) => setTimeout(() => root.value?.querySelector(`.vue-flow__node[data-id="${id}"]`)?.focus({ preventScroll: true }), 60);
    function choose(id, isEntered = false) {
      if (id || chosen.value) emit("choose", { id, isEntered });
      mark(id);
    }

    flow.onPaneReady(() => { isReady = true; begin(); });
    flow.onConnectStart(({ nodeId, handleId }) => { from = { source: nodeId, port: handleId }; isConnected = false; });
    flow.onConnect(({ source, sourceHandle, target }) => { isConnected = true; emit("deed", { deed: "connect", source, port: sourceHandle, target }); });
    flow.onConnectEnd((event) => {
      const isInNothing = event && !event.target?.closest?.(".vue-flow__handle, .vue-flow__node");
      const place = from;
      if (!isConnected && from && isInNothing) setTimeout(() => openTypes(place, event));  // after the click of the same hand, which closes it
      from = null;
    });
    flow.onEdgeUpdate(({ edge, connection }) =>
      emit("deed", { deed: "connect", source: edge.source, port: edge.sourceHandle, target: connection.target, before: edge.target }));
    flow.onNodeDragStop(({ nodes: dragged }) => { for (const node of dragged) moved[node.id] = { ...node.position }; });
    flow.onNodeClick(({ node }) => choose(node.id));
    flow.onPaneClick(() => { close(); choose(""); });

    // The list of what can be added, or where a way can lead.
    function open(title, choices, event) {
      const area = root.value.getBoundingClientRect(), spot = event?.changedTouches?.[0] ?? event;
      const x = (spot?.clientX || area.x + area.width / 2 - 150) - area.x, y = (spot?.clientY || area.y + 70) - area.y;
      menu.value = { title, choices, x: Math.max(8, Math.min(x, area.width - 308)), y: Math.max(8, Math.min(y, area.height - 330)) };
      sought.value = "";
      at.value = 0;
      nextTick(() => field.value?.focus());
    }
    const openTypes = (place, event) => open(props.words.add, (props.types ?? []).map((type) => ({
      ...type, act: () => { isNew = true; emit("deed", { deed: "add", kind: type.value, source: place?.source ?? "", port: place?.port ?? "p0" }); },
    })), event);
    function openWays(box) {
      const ways = box.ports.map((port) => ({ label: port.label || props.words.usual, act: () => openTargets(box, port.id) }));
      if (ways.length === 1) ways[0].act();
      else open(props.words.way, ways);
    }
    function openTargets(box, port) {
      const line = props.lines.find((one) => one.source === box.id && one.port === port && one.isOwn);
      const cut = { label: props.words.cut, act: () => emit("deed", { deed: "disconnect", source: box.id, port, target: line.target }) };
      const others = props.boxes.filter((other) => other.isStep && other.id !== box.id);
      const targets = others.map((other) => ({ label: other.title, hint: other.text, act: () => emit("deed", { deed: "connect", source: box.id, port, target: other.id }) }));
      open(props.words.lead, line ? [cut, ...targets] : targets);
    }
    const found = computed(() => (menu.value?.choices ?? []).filter((choice) =>
      `${choice.label} ${choice.value ?? ""} ${choice.hint ?? ""}`.toLowerCase().includes(sought.value.trim().toLowerCase())));
    watch(sought, () => { at.value = 0; });
    const close = () => { if (menu.value) root.value.focus({ preventScroll: true }); menu.value = null; };
    const take = (choice) => { if (choice) { close(); choice.act(); } };
    function pressInMenu(event) {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (step) at.value = Math.max(0, Math.min(found.value.length - 1, at.value + step));
      else if (event.key === "Enter" && event.target === field.value) take(found.value[at.value]);
      else if (event.key === "Escape") close();
      else return;
      event.preventDefault();
    }
    watch(at, () => nextTick(() => root.value?.querySelector(".canvas-found-here")?.scrollIntoView({ block: "nearest" })));

    function remove(event) {
      const focused = event?.target?.closest?.(".vue-flow__edge")?.dataset.id;
      const gone = focused ? edges.value.filter((edge) => edge.id === focused) : flow.getSelectedEdges.value;
      for (const { source, sourceHandle, target, data } of gone) if (data.isOwn) emit("deed", { deed: "disconnect", source, port: sourceHandle, target });
      const boxes = focused ? [] : list().filter((node) => node.data.isStep).map((node) => node.id);
      if (boxes.length) { emit("deed", { deed: "remove", boxes }); root.value.focus({ preventScroll: true }); }
    }
    function walk(key) {
      const now = find(chosen.value), [dx, dy] = ARROWS[key];
      let best = now ? null : nodes.value[0], least = Infinity;
      for (const node of now ? nodes.value : []) {
        const x = node.position.x - now.position.x, y = node.position.y - now.position.y, along = x * dx + y * dy;
        const far = along + 2 * Math.abs(x * dy + y * dx);
        if (node.id !== now.id && along > 10 && far < least) [best, least] = [node, far];
      }
      if (!best) return;
      mark(best.id);
      reveal(best.id);
      focus(best.id);
    }
    async function undo(isBack = true) {
      const view = window.getElement(props.code)?.editor, history = await import("nicegui-codemirror");
      if (view) (isBack ? history.undo : history.redo)(view);
    }
    function press(event) {
      if (event.target.closest("input, .canvas-menu")) return;
      const focused = event.target.closest(".vue-flow__node")?.dataset.id;
      if (focused && focused !== chosen.value) mark(focused);
      const isMod = event.ctrlKey || event.metaKey, isButton = event.target.closest("button"), box = find(chosen.value), mayEdit = !props.readOnly;
      if (isMod && mayEdit && event.code === "KeyZ") undo(!event.shiftKey);
      else if (isMod && mayEdit && event.code === "KeyY") undo(false);
      else if (isMod || event.altKey) return;
      else if (event.key in ARROWS) walk(event.key);
      else if (event.key === "Enter" && !isButton && chosen.value) choose(chosen.value, true);
      else if (event.code === "KeyF") fit(true);
      else if (event.code === "KeyL") tidy();
      else if (mayEdit && (event.key === "Delete" || event.key === "Backspace")) remove(event);
      else if (mayEdit && (event.key === "+" || event.code === "KeyN")) openTypes(box?.data.isStep ? { source: box.id, port: "p0" } : null);
      else if (mayEdit && event.code === "KeyC" && box?.data.ports.length) openWays(box.data);
      else return;
      event.preventDefault();
      event.stopPropagation();
    }
    function tidy() {
      for (const id of Object.keys(moved)) delete moved[id];
      draw();
      begin();
    }
    onMounted(() => {
      looker = new ResizeObserver(([{ contentRect }]) => {
        if (!contentRect.width) return;
        const tall = contentRect.width < NARROW;
        if (tall !== isTall.value) { isTall.value = tall; draw(); begin(); }
        else if (!isFitted) begin();
        else if (chosen.value) reveal(chosen.value);
      });
      looker.observe(root.value);
    });
    onBeforeUnmount(() => looker?.disconnect());
    const zoom = (by) => flow.zoomTo(flow.viewport.value.zoom * by);
    return {
      name, root, field, nodes, edges, menu, sought, at, found, isTall, isLarge, ICONS, Position, hasRows, measure,
      press, pressInMenu, openTypes, take, close, remove, undo, zoom, fit, tidy,
      choose(id) {  // told by the server
        mark(id);
        setTimeout(() => { reveal(id); if (isNew) focus(id); isNew = false; }, 80);
      },
    };
  },
  template: `
<div class="canvas" ref="root" tabindex="0" role="group" :aria-label="words.name" @keydown="press">
  <VueFlow :id="name" v-model:nodes="nodes" v-model:edges="edges" :min-zoom="0.05" :max-zoom="2" :delete-key-code="null" :connection-radius="36"
      :zoom-on-double-click="false" :only-render-visible-elements="isLarge" :nodes-connectable="!readOnly" :edges-updatable="!readOnly"
      :edges-focusable="!readOnly" :disable-keyboard-a11y="true">
    <template #node-box="{ data, id, selected }">
      <div :class="['box', 'box-' + data.shape, selected && 'box-chosen', data.tone && 'box-' + data.tone, data.mark && 'box-' + data.mark.style]" :style="{ height: measure(data) + 'px' }">
        <Handle v-if="data.hasIn" id="in" type="target" :position="isTall ? Position.Top : Position.Left" :style="isTall ? {} : { top: '27px' }" />
        <div class="box-head">
          <i class="material-icons" aria-hidden="true">{{ ICONS[data.shape] }}</i>
          <div class="box-words"><div class="box-title" dir="auto" :title="data.title">{{ data.title }}</div><div class="box-text" dir="auto" :title="data.text">{{ data.text }}</div></div>
          <span v-if="data.count" class="box-count" :title="data.told">{{ data.count }}</span>
        </div>
        <div v-for="port in data.ports" :key="port.id" :class="['box-port', !hasRows(data) && 'box-only', port.isBad && 'box-port-bad']" :title="port.told">
          <span class="box-label" dir="auto">{{ port.label }}{{ data.hints[id + port.id] }}</span>
          <button v-if="data.isStep && !readOnly" type="button" class="box-add nodrag" :aria-label="words.add + ': ' + data.title + ' ' + port.label" tabindex="-1" @click.stop="openTypes({ source: id, port: port.id }, $event)">+</button>
          <Handle :id="port.id" type="source" :position="isTall && !hasRows(data) ? Position.Bottom : Position.Right" />
        </div>
        <div v-if="data.mark" class="box-mark" dir="auto">{{ data.mark.word }}</div>
      </div>
    </template>
    <Background :gap="22" :size="1.2" />
    <MiniMap v-if="!isTall && nodes.length > 6" pannable zoomable :width="170" :height="110" :aria-label="words.map" :node-class-name="(node) => node.data.tone ? 'mini-bad' : ''" />
  </VueFlow>
  <div v-if="!readOnly" class="canvas-bar canvas-deeds" role="toolbar" :aria-label="words.name">
    <button type="button" class="canvas-main" @click="openTypes(null, $event)"><i class="material-icons" aria-hidden="true">add</i>{{ words.add }}</button>
    <button type="button" :title="words.undo" :aria-label="words.undo" @click="undo()"><i class="material-icons" aria-hidden="true">undo</i></button>
    <button type="button" :title="words.redo" :aria-label="words.redo" @click="undo(false)"><i class="material-icons" aria-hidden="true">redo</i></button>
    <button type="button" :title="words.remove" :aria-label="words.remove" @click="remove()"><i class="material-icons" aria-hidden="true">delete_outline</i></button>
  </div>
  <div class="canvas-bar canvas-zoom" role="toolbar" :aria-label="words.zoom">
    <button type="button" :title="words.larger" :aria-label="words.larger" @click="zoom(1.25)"><i class="material-icons" aria-hidden="true">add</i></button>
    <button type="button" :title="words.smaller" :aria-label="words.smaller" @click="zoom(0.8)"><i class="material-icons" aria-hidden="true">remove</i></button>
    <button type="button" :title="words.fit" :aria-label="words.fit" @click="fit(true)"><i class="material-icons" aria-hidden="true">fit_screen</i></button>
    <button type="button" :title="words.tidy" :aria-label="words.tidy" @click="tidy()"><i class="material-icons" aria-hidden="true">auto_awesome_mosaic</i></button>
  </div>
  <div v-if="menu" class="canvas-menu" :style="{ left: menu.x + 'px', top: menu.y + 'px' }" role="dialog" :aria-label="menu.title" @keydown.stop="pressInMenu">
    <input ref="field" v-model="sought" maxlength="100" :placeholder="words.seek" :aria-label="words.seek">
    <div class="canvas-found">
      <button v-for="(choice, place) in found" :key="place" type="button" :class="place === at && 'canvas-found-here'" @click="take(choice)"><b dir="auto">{{ choice.label }}</b><small dir="auto">{{ choice.hint }}</small></button>
      <span v-if="!found.length">{{ words.nothing }}</span>
    </div>
  </div>
</div>`,
};
