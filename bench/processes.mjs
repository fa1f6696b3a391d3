import { readdirSync, readFileSync } from 'node:fs';

/** The length of one tick in `/proc/PID/stat`, in microseconds (USER_HZ is 100 on Linux). */
const TICK_US = 10_000;

/**
 * Returns the CPU time of a process and its running children since their start, in microseconds.
 * The time includes user and system mode.
 */
export function cpuMicroseconds(pid) {
  return processTree(pid).reduce((sum, each) => sum + ownCpuMicroseconds(each), 0);
}

function ownCpuMicroseconds(pid) {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [, ...fields] = text.slice(text.lastIndexOf(')')).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_US;
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
