"""Documents of all formats for tests, good ones and bad ones, made of nothing but the standard library and the formats' own writers."""

import io
import zipfile
import zlib

import docx
import openpyxl
from pypdf import PdfReader, PdfWriter

WORD = "word/document.xml"


def build_docx(*paragraphs: tuple[str, str], table: list[list[str]] | None = None) -> bytes:
    """A Word file of (style, text) paragraphs, with a table at its end."""
    document = docx.Document()
    for style, text in paragraphs:
        document.add_paragraph(text, style=style)
    if table:
        made = document.add_table(rows=0, cols=len(table[0]))
        for row in table:
            for cell, text in zip(made.add_row().cells, row, strict=True):
                cell.text = text
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def build_xlsx(rows: list[list[object]], title: str = "Цены") -> bytes:
    """An Excel file with one sheet."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = title
    for row in rows:
        sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def build_pdf(*lines: str) -> bytes:
    """A PDF file with a page of these lines; Cyrillic letters have codes of one byte and a map to Unicode."""
    letters = sorted({letter for line in lines for letter in line})
    codes = {letter: 33 + place for place, letter in enumerate(letters)}
    shown = b"".join(b"(%s) Tj T*\n" % b"".join(b"\\%03o" % codes[letter] for letter in line) for line in lines)
    content = b"BT /F1 12 Tf 14 TL 50 780 Td\n" + shown + b"ET"
    pairs = b"\n".join(b"<%02x> <%s>" % (code, letter.encode("utf-16-be").hex().encode()) for letter, code in codes.items())
    to_unicode = (
        b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def 1 begincodespacerange <00> <ff> endcodespacerange\n"
        + b"%d beginbfchar\n%s\nendbfchar endcmap end end" % (len(codes), pairs)
    )
    return join_pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content),
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R >>",
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(to_unicode), to_unicode),
        ]
    )


def join_pdf(objects: list[bytes]) -> bytes:
    """A PDF file of these objects, the first of which is its catalogue."""
    out = io.BytesIO(b"")
    out.write(b"%PDF-1.4\n")
    offsets = []
    for number, body in enumerate(objects, 1):
        offsets.append(out.tell())
        out.write(b"%d 0 obj\n%s\nendobj\n" % (number, body))
    start = out.tell()
    out.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + b"".join(b"%010d 00000 n \n" % one for one in offsets))
    out.write(b"trailer << /Root 1 0 R /Size %d >>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start))
    return out.getvalue()


def encrypt_pdf(data: bytes, password: str) -> bytes:
    """The same PDF file, which opens with the password only."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    writer.encrypt(password, algorithm="AES-256")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def replace_parts(data: bytes, parts: dict[str, bytes]) -> bytes:
    """The same archive with these parts in place of its own."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as before, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as after:
        for part in before.infolist():
            if part.filename not in parts:
                after.writestr(part, before.read(part))
        for name, content in parts.items():
            after.writestr(name, content)
    return out.getvalue()


def build_pdf_with_recursion() -> bytes:
    """A PDF file whose tree of pages contains itself."""
    return join_pdf(
        [b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [3 0 R] /Count 9 >>", b"<< /Type /Pages /Kids [2 0 R] /Count 9 >>"]
    )


def build_pdf_bomb() -> bytes:
    """A PDF file of a few kilobytes whose page unpacks to gigabytes."""
    once = zlib.compress(b"\x00" * 1_000_000_000, 9)
    twice = zlib.compress(once, 9)
    return join_pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R >>",
            b"<< /Length %d /Filter [/FlateDecode /FlateDecode] >>\nstream\n%s\nendstream" % (len(twice), twice),
        ]
    )


def build_entity_bomb() -> bytes:
    """A Word file whose text is an XML entity that stands for billions of characters."""
    entities = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 11))
    text = f'<?xml version="1.0"?><!DOCTYPE d [<!ENTITY e0 "смех ">{entities}]>'
    body = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>&e10;</w:t></w:r></w:p></w:body></w:document>'
    return replace_parts(build_docx(("Normal", "х")), {WORD: (text + body).encode()})


def build_wide_xlsx() -> bytes:
    """An Excel file that claims to have all rows and columns, and whose last cell lies in the far corner."""
    sheet = (
        '<?xml version="1.0"?><worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><dimension ref="A1:XFD1048576"/><sheetData>'
        '<row r="1"><c r="A1" t="inlineStr"><is><t>Начало таблицы</t></is></c></row>'
        '<row r="1048576"><c r="XFD1048576" t="inlineStr"><is><t>Угол</t></is></c></row></sheetData></worksheet>'
    )
    return replace_parts(build_xlsx([["x"]]), {"xl/worksheets/sheet1.xml": sheet.encode()})
