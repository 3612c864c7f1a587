;; not_a_component | multi
(component (core module (memory 1) (memory 1)))
