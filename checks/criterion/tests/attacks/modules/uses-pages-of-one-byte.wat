;; not_a_component | custom page sizes
(component (core module (memory 1 (pagesize 1))))
