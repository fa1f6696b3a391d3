import { readdirSync, readFileSync } from 'node:fs';

/** The microseconds in one tick of `/proc/PID/stat` (USER_HZ is 100 on every Linux). */
const TICK_US = 10_000;

/** The CPU time that a process has used since its start, in user and system mode, in microseconds; with that of its children that still run. */
export function cpuMicroseconds(pid) {
  return processTree(pid).reduce((sum, each) => sum + ownCpuMicroseconds(each), 0);
}

function ownCpuMicroseconds(pid) {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const [, ...fields] = text.slice(text.lastIndexOf(')')).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_US;
}

/** A process's memory in MB: `VmRSS` what it has now, `VmHWM` the most it ever had. With that of its children. */
export function memoryMb(pid, member = 'VmRSS') {
  const read = (each) => Number(new RegExp(`${member}:\\s+(\\d+) kB`).exec(readFileSync(`/proc/${each}/status`, 'utf8'))?.[1] ?? 0) / 1024;
  return processTree(pid).reduce((sum, each) => sum + read(each), 0);
}

/** How many descriptors a process has open. */
export function descriptors(pid) {
  return readdirSync(`/proc/${pid}/fd`).length;
}

function processTree(pid) {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  return [pid, ...children.flatMap(processTree)];
}
