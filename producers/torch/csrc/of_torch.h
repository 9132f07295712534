/* What is read of PyTorch's tensors without Python: by functions that PyTorch exports under the same names from 2.4 to 2.15. Python
 * finds them, and holds what they say against what it is told itself, before they are used (tensortap/_stats/quick.py). */
#ifndef TENSORTAP_OF_TORCH_H
#define TENSORTAP_OF_TORCH_H

#include <stdbool.h>
#include <stdint.h>

#include "of_python.h"

#define MOST_SIZES 6 /* dimensions of tensors that are taken without Python */

typedef struct {
  /* Of a tensor as C++ holds it; not 0 where one raised, which none does for a tensor of the plain kind. */
  int32_t (*data)(const void *, void **), (*dim)(const void *, int64_t *), (*sizes)(const void *, int64_t **), (*strides)(const void *, int64_t **);
  int32_t (*dtype)(const void *, int32_t *), (*device)(const void *, int32_t *);
  bool (*is_neg)(const void *), (*is_inference)(const void *);
  int64_t (*version)(const void *); /* raises for one that is_inference */
  bool (*has_storage)(const void *impl), (*requires_grad)(const void *impl);
  uint64_t offset;    /* of C++'s tensor in Python's */
  const void *plain;  /* what the impl of a plain tensor begins with: it is neither sparse, nested nor wrapped */
  const object *tensor, *parameter; /* the types that are plain tensors */
} of_torch;

typedef struct {
  void *data;
  int64_t version; /* -1 where none is kept */
  int64_t sizes[MOST_SIZES], strides[MOST_SIZES];
  int32_t dtype;
  uint8_t dim, requires_grad;
} tensor_facts;

/* Whether that is a plain tensor of the CPU whose elements are what lies in memory; then what is known of it. */
int facts_of(const of_torch *torch, object *tensor, tensor_facts *f);

/* Of one that is: whether they lie still there, at the same version. */
int is_unchanged(const of_torch *torch, object *tensor, const void *data, int64_t version);

#endif
