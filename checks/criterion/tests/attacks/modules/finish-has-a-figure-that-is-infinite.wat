;; cannot_answer | its figure `f` is -inf
(func $finish (result i32) (f64.store (i32.const 3080) (f64.const -inf)) i32.const 2048)
