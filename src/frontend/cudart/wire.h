/* wire: how `atoll exec` and the CUDA libraries in the program's process talk.
 *
 *   atoll exec ── environment ATOLL_EXEC: lines "key value" ──► library
 *   atoll exec ◄── file descriptor named there: records "kind from length\n" and bytes ── library
 *
 * The descriptor is a file that both share, so nobody waits for anybody; it is read when the program has
 * ended. */
#ifndef ATOLL_FRONTEND_CUDART_WIRE_H
#define ATOLL_FRONTEND_CUDART_WIRE_H

#define WIRE_VARIABLE "ATOLL_EXEC"

/* kinds of records; "from" is different for each process and each copy of the library in it */
#define WIRE_USED     "used" /* CUDA was started: something else should follow */
#define WIRE_REPORT   "report"
#define WIRE_JSON     "json"
#define WIRE_CSV      "csv"
#define WIRE_TIMELINE "timeline"
#define WIRE_STATUS   "status"  /* text of an atoll_status, the worst so far */
#define WIRE_STOPPED  "stopped" /* the program was ended by --max-instructions */

#endif
