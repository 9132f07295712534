/* Takes the values of a call as rows of the spool, without Python's own calls: of plain tensors whose layout is known, of None and of
 * numbers. What comes first that is anything else is left to Python, which goes on from there. */
#ifndef TENSORTAP_TAKE_H
#define TENSORTAP_TAKE_H

#include "of_python.h"

/* (torch, tensor) -> whether its facts are known, and a checksum of them. */
object *facts(object *, object *const *, ptrdiff_t);
/* (taker, tensor, call) -> whether that is new: tensors like that one are measured by such a call, which is copied. */
object *learn(object *, object *const *, ptrdiff_t);
/* (taker, all): no tensor is known as read before, and with all no layout either. */
object *forget(object *, object *const *, ptrdiff_t);
/* (taker, tuple of values, list of their sites, the first, seq) -> how many are taken up to there; negative where a NaN or +Inf is in the last. */
object *take_values(object *, object *const *, ptrdiff_t);
/* (taker, header's place of the current op, op, parent, seq, stack, micro step, flags, values, sites): an op begins with these values; as
 * take_values from 0, or None and nothing is written where there is no room. */
object *open_call(object *, object *const *, ptrdiff_t);
/* (taker, op, parent, seq, stack, micro step, flags, values, sites): an op ends with these; likewise, but it has not ended where some are left
 * or the last has a NaN or +Inf. None where they are taken and there was no room to say that it has ended. */
object *close_call(object *, object *const *, ptrdiff_t);
/* (taker, value, site, seq) -> 1 where it is taken, -1 likewise, 0 else. */
object *take_one(object *, object *const *, ptrdiff_t);

#endif
