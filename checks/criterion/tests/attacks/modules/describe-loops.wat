;; out_of_fuel | describing itself
(func $describe (result i32) (loop (br 0)) unreachable)
