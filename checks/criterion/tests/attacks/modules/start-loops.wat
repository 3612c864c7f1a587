;; out_of_fuel | describing itself
(func $begin (loop (br 0)))
(start $begin)
