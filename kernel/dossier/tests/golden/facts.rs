const V0: Golden = Golden {
    name: "v0.fascicolo",
    version: 0,
    origin: "fascicolo/d614f976bece47ec3e67d29e3e106d7d",
    entries: 22,
    value: (10, "candidate.path", "batch-1.parquet"),
    redacted: (14, "ran"),
    signatures: 1,
    parents: 0,
};
