#include "seen.h"

#include <string.h>

static uint64_t hash_of(const tensor_facts *f) {
  uint64_t hash = (uint64_t)f->dtype << 32 | (uint64_t)f->dim << 8 | f->requires_grad;
  for (int d = 0; d < f->dim; d++) hash = (hash ^ (uint64_t)f->sizes[d]) * GOLDEN + (uint64_t)f->strides[d];
  return mix(hash);
}

static int same_layout(const tensor_facts *a, const tensor_facts *b) {
  size_t bytes = (size_t)a->dim * sizeof *a->sizes;
  return a->dtype == b->dtype && a->dim == b->dim && a->requires_grad == b->requires_grad && !memcmp(a->sizes, b->sizes, bytes) &&
         !memcmp(a->strides, b->strides, bytes);
}

/* The slot in which it is, or would be. */
static int layout_slot(const memory *m, uint64_t hash, const tensor_facts *f) {
  int slot = (int)(hash % LAYOUT_SLOTS);
  while (m->layout_slots[slot]) {
    const known_layout *known = &m->layouts[m->layout_slots[slot] - 1];
    if (known->hash == hash && same_layout(&known->facts, f)) break;
    slot = (slot + 1) % LAYOUT_SLOTS;
  }
  return slot;
}

const known_layout *layout_find(const memory *m, const tensor_facts *f) {
  int place = m->layout_slots[layout_slot(m, hash_of(f), f)];
  return place ? &m->layouts[place - 1] : NULL;
}

int layout_add(memory *m, const tensor_facts *f, const tap_call *call) {
  uint64_t hash = hash_of(f);
  int slot = layout_slot(m, hash, f);
  if (m->layout_slots[slot] || m->layout_count == MOST_LAYOUTS) return 0;
  m->layouts[m->layout_count] = (known_layout){hash, *f, *call};
  m->layout_slots[slot] = (uint16_t)++m->layout_count;
  return 1;
}

static int slot_of(const void *address) { return (int)(mix((uint64_t)(uintptr_t)address) % SEEN_SLOTS); }

seen_tensor *seen_find(memory *m, object *tensor) {
  for (int place = m->of_tensor[slot_of(tensor)]; place; place = m->seen[place - 1].next_of_tensor)
    if (m->seen[place - 1].tensor == tensor) return &m->seen[place - 1];
  return NULL;
}

seen_tensor *seen_at(memory *m, const void *data) {
  for (int place = m->of_data[slot_of(data)]; place; place = m->seen[place - 1].next_of_data)
    if (m->seen[place - 1].data == data) return &m->seen[place - 1];
  return NULL;
}

int seen_lives(const seen_tensor *seen) {
  if (!PyWeakref_GetRef) return PyWeakref_GetObject(seen->reference) == seen->tensor;
  object *lives = NULL;
  if (PyWeakref_GetRef(seen->reference, &lives) != 1) return 0;
  Py_DecRef(lives); /* the caller holds it */
  return lives == seen->tensor;
}

void seen_add(memory *m, object *tensor, const tensor_facts *f, const known_layout *layout, const char *rows, int row_count) {
  object *reference = PyWeakref_NewRef(tensor, NULL);
  if (!reference) return PyErr_Clear();
  uint16_t *by_tensor = &m->of_tensor[slot_of(tensor)], *by_data = &m->of_data[slot_of(f->data)];
  m->seen[m->seen_count] = (seen_tensor){tensor, reference, f->data, f->version, layout, rows, row_count, *by_tensor, *by_data};
  *by_tensor = *by_data = (uint16_t)++m->seen_count;
}

void seen_clear(memory *m) {
  int count = m->seen_count;
  m->forgotten++;
  if (!count) return;
  m->seen_count = 0;
  memset(m->of_tensor, 0, sizeof m->of_tensor);
  memset(m->of_data, 0, sizeof m->of_data);
  for (int i = 0; i < count; i++) Py_DecRef(m->seen[i].reference);
}

void layouts_clear(memory *m) {
  seen_clear(m);
  m->layout_count = 0;
  memset(m->layout_slots, 0, sizeof m->layout_slots);
}
