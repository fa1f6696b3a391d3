import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Returns the TCP ports on which a process listens, in ascending order (Linux). */
export function listeningPorts(pid: number): number[] {
  const sockets = new Set(
    readdirSync(`/proc/${pid}/fd`).flatMap(
      (name) => /^socket:\[(\d+)\]$/.exec(linkOf(`/proc/${pid}/fd/${name}`))?.[1] ?? [],
    ),
  );
  const lines = ['tcp', 'tcp6'].flatMap((table) =>
    readFileSync(`/proc/${pid}/net/${table}`, 'utf8').trim().split('\n').slice(1),
  );
  const ports = lines
    .map((line) => line.trim().split(/\s+/))
    .flatMap(([, local = '', , state, , , , , , inode = '']) => {
      return state === '0A' && sockets.has(inode)
        ? [Number.parseInt(local.split(':')[1] ?? '', 16)]
        : [];
    });
  return ports.sort((one, other) => one - other);
}

/** Returns the target of a link, or an empty string if the descriptor is already closed. */
function linkOf(path: string): string {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
