/* slurm: the sweep as Slurm job arrays.
 *
 *   spool/task.N (points) ─► sbatch --array ─► "PROGRAM worker --spool D --task N" on a node ─►
 * spool/done.KEY ▲                                                                                         │
 *          └── points without a result when their task is gone: submitted again ◄── collected ◄──────┘
 *
 * Nodes write files of the shared directory only, whole or not at all; the database is written here. */
#ifndef ATOLL_SWEEP_SLURM_H
#define ATOLL_SWEEP_SLURM_H

/* On a node: runs the points of one task, one after the other; those that have a result are skipped. */
void slurm_task(const char *spool, const char *task, const char *program);

#endif
