"""The content digest of Parquet files of embeddings, by hashlib and integers alone: the oracle of tests/content.rs.

Usage: python content_digest.py FILE.parquet...        Needs: pyarrow
The ids stand in the column `id` as texts or integers, the vectors in `embedding`.
"""
import hashlib, math, struct, sys
import pyarrow.parquet as pq

NULL = 2**64 - 1


def word(value):
    if value is None:
        return struct.pack("<Q", NULL)
    if math.isnan(value):
        return struct.pack("<Q", 0x7FF8000000000000)
    return struct.pack("<d", value)


def row_digest(id, vector):
    text = b"" if id is None else str(id).encode()
    row = struct.pack("<Q", NULL if id is None else len(text)) + text
    if vector is None:
        row += struct.pack("<Q", 0) + b"\xff"
    else:
        row += struct.pack("<Q", len(vector)) + b"".join(word(value) for value in vector)
    return hashlib.sha256(row).digest()


for path in sys.argv[1:]:
    table = pq.read_table(path, columns=["id", "embedding"])
    rows = zip(table["id"].to_pylist(), table["embedding"].to_pylist())
    total = sum(int.from_bytes(row_digest(*row), "little") for row in rows) % 2**256
    content = total.to_bytes(32, "little") + struct.pack("<Q", table.num_rows)
    print(hashlib.sha256(content).hexdigest(), path)
