/* A small pool of threads of our own: idle ones wait, none is started before it is needed, and none after a fork. */
#ifndef TENSORTAP_POOL_H
#define TENSORTAP_POOL_H

typedef struct {
  void (*run)(void *context, int piece);
  void *context;
  int pieces;
} pool_job;

/* Takes the pool for the caller alone. 0 when it is taken, or when this process was forked: then the caller does all itself. */
int pool_take(void);
/* Runs all pieces on at most `threads` threads, the caller's among them, and returns when all are done. */
void pool_run(const pool_job *job, int threads);
void pool_give(void);

#endif
