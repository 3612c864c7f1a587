;; not_a_component | gc
(component (core module (type (struct (field i32)))))
