/* Layouts that are known, and tensors that were read in this step. */
#ifndef TENSORTAP_SEEN_H
#define TENSORTAP_SEEN_H

#include "of_torch.h"
#include "records.h"

#define MOST_LAYOUTS 1024
#define MOST_SEEN 32768
#define LAYOUT_SLOTS (2 * MOST_LAYOUTS)
#define SEEN_SLOTS 8192

typedef struct {
  uint64_t hash;
  tensor_facts facts;
  tap_call call;
} known_layout;

typedef struct {
  object *tensor, *reference; /* a weak one */
  void *data;
  int64_t version;
  const known_layout *layout;
  const char *rows;
  int row_count, next_of_tensor, next_of_data; /* places, from 1; 0: none */
} seen_tensor;

typedef struct {
  int layout_count, seen_count;
  uint64_t forgotten; /* how often */
  uint16_t layout_slots[LAYOUT_SLOTS]; /* places, from 1 */
  uint16_t of_tensor[SEEN_SLOTS], of_data[SEEN_SLOTS];
  known_layout layouts[MOST_LAYOUTS];
  seen_tensor seen[MOST_SEEN];
} memory;

const known_layout *layout_find(const memory *m, const tensor_facts *f);
/* 0 where it is there, or there are too many. */
int layout_add(memory *m, const tensor_facts *f, const tap_call *call);

seen_tensor *seen_find(memory *m, object *tensor);
seen_tensor *seen_at(memory *m, const void *data);
/* So many rows are those of a tensor. To be called with no more than MOST_SEEN. */
void seen_add(memory *m, object *tensor, const tensor_facts *f, const known_layout *layout, const char *rows, int row_count);
/* Whether the tensor of an entry lives. */
int seen_lives(const seen_tensor *seen);

void seen_clear(memory *m);
void layouts_clear(memory *m);

#endif
