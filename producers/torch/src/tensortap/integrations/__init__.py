"""Ways in to programs that do not know of the collector: one module for each thing that is attached to.

Each has `attach(module)`, called once that module of the application was imported.
"""
