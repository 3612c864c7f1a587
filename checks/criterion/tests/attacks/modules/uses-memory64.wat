;; not_a_component | memory64
(component (core module (memory i64 1)))
