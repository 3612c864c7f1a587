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

const V1: Golden = Golden {
    name: "v1.fascicolo",
    version: 1,
    origin: "fascicolo/9c5b20dc7a83149ceb17c6884f758a12",
    entries: 21,
    value: (9, "candidate.path", "batch-1.parquet"),
    redacted: (13, "ran"),
    signatures: 1,
    parents: 1,
};
