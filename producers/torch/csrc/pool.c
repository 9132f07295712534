#include "pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

#define MOST_WORKERS 63
#define STACK_BYTES (256 * 1024)

static pthread_mutex_t taken = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t begun = PTHREAD_COND_INITIALIZER, ended = PTHREAD_COND_INITIALIZER;
static const pool_job *current;
static unsigned generation;
static int workers, wanted, running, forked;
static atomic_int next_piece, joined;
static team_start *lent;

static void work_on(const pool_job *job) {
  for (int piece; (piece = atomic_fetch_add(&next_piece, 1)) < job->pieces;) job->run(job->context, piece);
}

static void *work(void *unused) {
  unsigned seen = 0;
  pthread_mutex_lock(&lock);
  for (;;) {
    while (generation == seen || current == NULL || wanted == 0) {
      seen = generation;
      pthread_cond_wait(&begun, &lock);
    }
    seen = generation;
    wanted--;
    running++;
    const pool_job *job = current;
    pthread_mutex_unlock(&lock);
    work_on(job);
    pthread_mutex_lock(&lock);
    if (--running == 0) pthread_cond_signal(&ended);
  }
  return unused;
}

/* The model's signals are for the model's threads. */
static int start_worker(void) {
  pthread_attr_t attributes;
  pthread_t thread;
  sigset_t all, before;
  if (pthread_attr_init(&attributes)) return 0;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int failed = pthread_create(&thread, &attributes, work, NULL);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return !failed;
}

static void after_fork(void) { forked = 1; }

__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, after_fork); }

int pool_take(void) { return !forked && pthread_mutex_trylock(&taken) == 0; }

void pool_give(void) { pthread_mutex_unlock(&taken); }

typedef struct { const pool_job *job; int threads; } shared_job;

static void join(void *argument) {
  const shared_job *shared = argument;
  if (atomic_fetch_add(&joined, 1) < shared->threads) work_on(shared->job);
}

static void run_on_team(const pool_job *job, int threads) {
  shared_job shared = {job, threads};
  atomic_store(&next_piece, 0);
  atomic_store(&joined, 0);
  lent(join, &shared, 0, 0);
}

static void run_on_ours(const pool_job *job, int threads) {
  int helpers = threads - 1 < MOST_WORKERS ? threads - 1 : MOST_WORKERS;
  while (workers < helpers && start_worker()) workers++;
  pthread_mutex_lock(&lock);
  atomic_store(&next_piece, 0);
  current = job;
  wanted = helpers;
  generation++;
  for (int i = 0; i < helpers; i++) pthread_cond_signal(&begun);
  pthread_mutex_unlock(&lock);
  work_on(job);
  pthread_mutex_lock(&lock);
  current = NULL;
  while (running > 0) pthread_cond_wait(&ended, &lock);
  pthread_mutex_unlock(&lock);
}

void pool_lend(team_start *team) { lent = team; }

void pool_run(const pool_job *job, int threads) {
  if (lent) run_on_team(job, threads);
  else run_on_ours(job, threads);
}
