/* Threads that share the pieces of one job: torch's, where they are lent, since those wait for work without sleeping and would
 * take the cores from others. Else a few of our own: idle ones sleep, none is started before it is needed. None after a fork. */
#ifndef TENSORTAP_POOL_H
#define TENSORTAP_POOL_H

typedef struct {
  void (*run)(void *context, int piece);
  void *context;
  int pieces;
} pool_job;

/* Calls run(argument) on each thread of a team, of its own size for 0 threads; GOMP_parallel of OpenMP's runtimes. */
typedef void team_start(void (*run)(void *), void *argument, unsigned threads, unsigned flags);

/* From now on the team's threads do the work. NULL: threads of our own. */
void pool_lend(team_start *team);
/* Takes the pool for the caller alone. 0 when it is taken, or when this process was forked: then the caller does all itself. */
int pool_take(void);
/* Runs all pieces on at most `threads` threads, the caller's among them, and returns when all are done. */
void pool_run(const pool_job *job, int threads);
void pool_give(void);

#endif
