"""Ten vectors of 4 dimensions with page checksums, as pyarrow writes them when asked.

Usage: python make_checksums.py OUT.parquet        Needs: pyarrow
"""
import sys, pyarrow as pa, pyarrow.parquet as pq
rows = [[i + j / 8 for j in range(4)] for i in range(10)]
table = pa.table({"id": pa.array(range(10)), "embedding": pa.array(rows, pa.list_(pa.float32()))})
pq.write_table(table, sys.argv[1], compression="none", use_dictionary=False, write_page_checksum=True)
