#include "of_torch.h"

#include <string.h>

enum { CPU = 0 };

static int is_plain_type(const of_torch *torch, object *tensor) {
  object *type = PyObject_Type(tensor);
  Py_DecRef(type); /* the tensor holds it */
  return type == torch->tensor || type == torch->parameter;
}

static const void *of_cpp(const of_torch *torch, object *tensor) { return (const char *)tensor + torch->offset; }

static const void *impl_of(const void *tensor) { return *(const void *const *)tensor; }

static int is_plain(const of_torch *torch, const void *tensor) {
  const void *impl = impl_of(tensor);
  int32_t device;
  if (!impl || *(const void *const *)impl != torch->plain || !torch->has_storage(impl)) return 0;
  return !torch->device(tensor, &device) && device == CPU && !torch->is_neg(tensor);
}

static int64_t version_of(const of_torch *torch, const void *tensor) { return torch->is_inference(tensor) ? -1 : torch->version(tensor); }

int facts_of(const of_torch *torch, object *python, tensor_facts *f) {
  if (!is_plain_type(torch, python)) return 0;
  const void *tensor = of_cpp(torch, python);
  int64_t dim, *sizes, *strides;
  if (!is_plain(torch, tensor)) return 0;
  if (torch->dim(tensor, &dim) || dim > MOST_SIZES || torch->dtype(tensor, &f->dtype) || torch->data(tensor, &f->data) || !f->data) return 0;
  if (torch->sizes(tensor, &sizes) || torch->strides(tensor, &strides)) return 0;
  memcpy(f->sizes, sizes, (size_t)dim * sizeof *sizes);
  memcpy(f->strides, strides, (size_t)dim * sizeof *strides);
  f->dim = (uint8_t)dim;
  f->requires_grad = torch->requires_grad(impl_of(tensor));
  f->version = version_of(torch, tensor);
  return 1;
}

int is_unchanged(const of_torch *torch, object *python, const void *data, int64_t version) {
  const void *tensor = of_cpp(torch, python);
  void *now;
  return is_plain(torch, tensor) && !torch->data(tensor, &now) && now == data && version_of(torch, tensor) == version;
}
