;; out_of_fuel | describing itself
(func $begin (loop (memory.fill (i32.const 0) (i32.const 7) (i32.const 262144)) (br 0)))
(start $begin)
