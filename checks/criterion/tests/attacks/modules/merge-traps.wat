;; trapped | merging states: it panicked
(func $merge (param i32 i32) (result i32) unreachable)
