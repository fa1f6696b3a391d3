import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { accepts, freePort } from './connections.ts';
import { endWithTests } from './leftovers.ts';
import { startAgainIfFailed, untilTrue, whenReady } from './starts.ts';

/** A reverse proxy for one or more services. */
export interface Nginx {
  readonly url: string;
  /**
   * Sends new requests to all upstreams except the one at this index. If undefined, sends them to
   * all upstreams. Resolves once all earlier requests have responses.
   */
  takeOut(index: number | undefined): Promise<void>;
  /** Returns the error log. */
  errors(): string;
  stop(): Promise<void>;
}

/** Starts nginx in the foreground on a free port with its files in `folder`. */
export function startNginx(folder: string, upstreams: readonly number[]): Promise<Nginx> {
  return startAgainIfFailed('nginx', async () => startOn(await freePort(), folder, upstreams));
}

async function startOn(port: number, folder: string, upstreams: readonly number[]): Promise<Nginx> {
  mkdirSync(folder, { recursive: true });
  const configure = (out: number | undefined) =>
    writeFileSync(join(folder, 'nginx.conf'), configuration(folder, port, upstreams, out));
  configure(undefined);
  const child = endWithTests(
    spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf')], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: `${process.env.PATH}:/usr/sbin` },
    }),
  );
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  const nginx = { name: 'nginx', child, output: () => output };
  // nginx listens before its worker runs, and takeOut compares workers.
  const isUp = async () =>
    (await accepts({ host: '127.0.0.1', port })) && workersOf(child).length > 0;
  await whenReady(nginx, untilTrue(nginx, isUp));
  return {
    url: `http://127.0.0.1:${port}`,
    async takeOut(index) {
      const before = workersOf(child);
      configure(index);
      child.kill('SIGHUP');
      // Workers with the old configuration exit when their last request has a response.
      while (workersOf(child).length === 0 || workersOf(child).some((pid) => before.includes(pid)))
        await pause(20);
    },
    errors: () => readFileSync(join(folder, 'error.log'), 'utf8'),
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGQUIT');
      await ended;
    },
  };
}

/**
 * Returns a configuration without keep-alive, because a reload would close idle connections of
 * clients.
 */
function configuration(
  folder: string,
  port: number,
  upstreams: readonly number[],
  out: number | undefined,
): string {
  const path = (name: string) => join(folder, name);
  return `daemon off;
worker_processes 1;
pid ${path('pid')};
error_log ${path('error.log')};
events { worker_connections 512; }
http {
  access_log off;
  keepalive_timeout 0;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${path(kind)};`).join('\n  ')}
  upstream tsigil {
    ${upstreams.map((upstream, index) => `server 127.0.0.1:${upstream} max_fails=0${index === out ? ' down' : ''};`).join('\n    ')}
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://tsigil;
      proxy_set_header Host $http_host;
    }
  }
}
`;
}

function workersOf({ pid }: ChildProcess): string[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
}
