;; not_a_component | threads
(component (core module (memory 1 1 shared)))
