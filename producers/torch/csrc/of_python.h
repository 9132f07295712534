/* What of Python the kernel calls: a few names of its stable ABI, the same in every version, so that one library serves all.
 * Weak, since the library is loaded without Python, too. */
#ifndef TENSORTAP_OF_PYTHON_H
#define TENSORTAP_OF_PYTHON_H

#include <stddef.h>

typedef struct python_object { char any; } object; /* whose content is Python's affair */
typedef object *python_function(object *, object *const *, ptrdiff_t);
typedef struct { const char *name; python_function *function; int flags; const char *text; } python_method;
enum { METHOD_KEYWORDS = 0x2, METHOD_FASTCALL = 0x80 };

#define OF_PYTHON extern __attribute__((weak, visibility("default")))
OF_PYTHON object *PyCFunction_NewEx(python_method *, object *self, object *module);
OF_PYTHON object *PyLong_FromLong(long);
OF_PYTHON unsigned long long PyLong_AsUnsignedLongLong(object *);
OF_PYTHON long long PyLong_AsLongLong(object *);
OF_PYTHON double PyFloat_AsDouble(object *);
OF_PYTHON const char *PyUnicode_AsUTF8AndSize(object *, ptrdiff_t *);
OF_PYTHON object *PyErr_Occurred(void);
OF_PYTHON void PyErr_Clear(void);
OF_PYTHON int PyErr_BadArgument(void);
OF_PYTHON int PyErr_ExceptionMatches(object *);
OF_PYTHON void PyErr_Fetch(object **, object **, object **);
OF_PYTHON void PyErr_Restore(object *, object *, object *);
OF_PYTHON void PyErr_NormalizeException(object **, object **, object **);
OF_PYTHON int PyException_SetTraceback(object *, object *);
OF_PYTHON void PyErr_GetExcInfo(object **, object **, object **);
OF_PYTHON void PyErr_SetExcInfo(object *, object *, object *);
OF_PYTHON object *PyObject_Type(object *);
OF_PYTHON void Py_IncRef(object *);
OF_PYTHON void Py_DecRef(object *);
OF_PYTHON ptrdiff_t PyTuple_Size(object *);
OF_PYTHON object *PyTuple_GetItem(object *, ptrdiff_t); /* lent, as of lists */
OF_PYTHON object *PyTuple_New(ptrdiff_t);
OF_PYTHON int PyTuple_SetItem(object *, ptrdiff_t, object *); /* takes it */
OF_PYTHON object *PyDict_New(void);
OF_PYTHON int PyDict_SetItem(object *, object *, object *);
OF_PYTHON object *PyDict_GetItemWithError(object *, object *); /* lent */
OF_PYTHON object *PyLong_FromVoidPtr(void *);
OF_PYTHON object *PyObject_Call(object *, object *, object *);
OF_PYTHON object *PyObject_Vectorcall(object *, object *const *, size_t, object *);         /* from 3.11 on */
OF_PYTHON object *_PyFunction_Vectorcall(object *, object *const *, size_t, object *);      /* not of the stable ABI: asked for before it is used */
OF_PYTHON void PyFunction_SetVectorcall(object *, object *(*)(object *, object *const *, size_t, object *)); /* from 3.12 on */
OF_PYTHON object *PyInstanceMethod_New(object *);
OF_PYTHON ptrdiff_t PyList_Size(object *);
OF_PYTHON object *PyList_GetItem(object *, ptrdiff_t);
OF_PYTHON object *PyUnicode_InternFromString(const char *);
OF_PYTHON object *PyObject_GetAttr(object *, object *name);
OF_PYTHON object *PyObject_CallNoArgs(object *);
OF_PYTHON int PyObject_IsTrue(object *);
OF_PYTHON object *PyWeakref_NewRef(object *, object *);
OF_PYTHON object *PyWeakref_GetObject(object *);       /* lent; until 3.13 */
OF_PYTHON int PyWeakref_GetRef(object *, object **);   /* from then on */
OF_PYTHON object *PyExc_Exception;
OF_PYTHON object PyFloat_Type, PyLong_Type, PyTuple_Type, _Py_NoneStruct, _Py_TrueStruct, _Py_FalseStruct;
OF_PYTHON void *PyEval_SaveThread(void);
OF_PYTHON void PyEval_RestoreThread(void *);

#endif
