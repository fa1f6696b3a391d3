import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

/** A reverse proxy before several services. */
export interface Nginx {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Starts nginx in the foreground on `port` with its files in `folder`. A request that finds its service gone is given to the
 * next one as long as nothing was sent, which is nginx's default for requests that change something.
 */
export async function startNginx(folder: string, port: number, upstreams: readonly number[]): Promise<Nginx> {
  mkdirSync(folder, { recursive: true });
  const path = (name: string) => join(folder, name);
  writeFileSync(
    path('nginx.conf'),
    `daemon off;
worker_processes 1;
pid ${path('pid')};
error_log ${path('error.log')};
events { worker_connections 512; }
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((kind) => `${kind}_temp_path ${path(kind)};`).join('\n  ')}
  upstream tsigil {
    ${upstreams.map((upstream) => `server 127.0.0.1:${upstream} max_fails=0;`).join('\n    ')}
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://tsigil;
      proxy_set_header Host $http_host;
      proxy_next_upstream error;
    }
  }
}
`,
  );
  const child = spawn('nginx', ['-p', folder, '-c', path('nginx.conf')], { stdio: 'ignore', env: { PATH: `${process.env.PATH}:/usr/sbin` } });
  while (!(await listens(port))) {
    if (child.exitCode !== null) throw new Error(`nginx ended with ${child.exitCode}`);
    await pause(20); // polls the condition; nginx says nothing when it is ready
  }
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      const ended = once(child, 'exit');
      child.kill('SIGQUIT');
      await ended;
    },
  };
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.on('connect', () => resolve(true)).on('error', () => resolve(false));
    socket.on('connect', () => socket.destroy());
  });
}
