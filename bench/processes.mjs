import { readdirSync, readFileSync } from 'node:fs';

/**
 * Returns the CPU time of a process and its running children since their start, in microseconds.
 * The time includes user and system mode.
 */
export function cpuMicroseconds(pid) {
  return processTree(pid).reduce((sum, each) => sum + ownCpuMicroseconds(each), 0);
}

/** The kernel counts the time of each thread in nanoseconds, in the first field of `schedstat`. */
function ownCpuMicroseconds(pid) {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.reduce((sum, thread) => sum + threadNanoseconds(pid, thread), 0) / 1000;
}

function threadNanoseconds(pid, thread) {
  try {
    return Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]);
  } catch {
    return 0; // the thread has ended
  }
}

/**
 * Returns the resident memory of a process and its children in MB: the current size (`VmRSS`) or
 * the peak size (`VmHWM`).
 */
export function memoryMb(pid, member = 'VmRSS') {
  const read = (each) =>
    Number(
      new RegExp(`${member}:\\s+(\\d+) kB`).exec(
        readFileSync(`/proc/${each}/status`, 'utf8'),
      )?.[1] ?? 0,
    ) / 1024;
  return processTree(pid).reduce((sum, each) => sum + read(each), 0);
}

/** Returns the number of open file descriptors of a process. */
export function descriptors(pid) {
  return readdirSync(`/proc/${pid}/fd`).length;
}

function processTree(pid) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .split(' ')
    .filter(Boolean)
    .map(Number);
  return [pid, ...children.flatMap(processTree)];
}
