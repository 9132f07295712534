/* Hears of calls of functions that are written in Python, without a frame of its own: what raises, warns, or asks who called it, finds
 * the frames that are there without us; and the functions, as whoever looks at them finds them, are those that they were. */
#ifndef TENSORTAP_CALLS_H
#define TENSORTAP_CALLS_H

#include "of_python.h"

/* (function, size of a function, registry, meets) -> whether its calls are heard from here on. The registry has what enters a call by the
 * address of its first argument, or None; what is not in it enters by `meets`, unless that is None. */
object *hear_calls(object *, object *const *, ptrdiff_t);
/* (mode) -> its method, which torch calls: `_enter` of the mode is given its arguments, and what the mode was given is called. */
object *of_mode(object *, object *const *, ptrdiff_t);
/* (function): it is as it was. */
object *hear_no_more(object *, object *const *, ptrdiff_t);
/* (name, function, enters) -> a function that enters each call. */
object *around(object *, object *const *, ptrdiff_t);
/* (function) -> the same, which binds to objects as a method. */
object *as_method(object *, object *const *, ptrdiff_t);

#endif
