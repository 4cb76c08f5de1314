/* slurm: runs a sweep as Slurm job arrays.
 *
 *   submit()                                 slurm_task() on a node
 *   spool/point.KEY, ──► sbatch --array ──► PROGRAM worker --spool D --task BATCH.N ──► spool/done.KEY
 *   spool/task.BATCH.N                                                                   │
 *      ▲                                                                                 ▼
 *      └── job ended without the result: submit the point again (3 attempts) ◄────── collect() ──► database
 *
 * Nodes write files of the shared directory only, and write each file atomically. Only the submitting
 * process writes the database. */
#ifndef ATOLL_SWEEP_SLURM_H
#define ATOLL_SWEEP_SLURM_H

/* On a node: runs the points of one task, one after the other; those that have a result are skipped. */
void slurm_task(const char *spool, const char *task, const char *program);

#endif
