;; out_of_fuel | merging states
(func $merge (param i32 i32) (result i32) (loop (br 0)) unreachable)
