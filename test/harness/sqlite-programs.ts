import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { PROGRAM } from './service.ts';

// Tests open a SQLite database from a separate process. In the test process, the driver would hold
// the locks of a closed connection until its statements are garbage-collected.

/** Another program that has a SQLite database open. */
export interface ForeignProgram {
  /** Closes the database and waits for the program to exit. */
  release(): Promise<void>;
}

const HOLD = `
  const { DatabaseSync } = require('@photostructure/sqlite');
  const connection = new DatabaseSync(process.argv[1]);
  connection.exec('PRAGMA busy_timeout = 60000'); // the service may be writing
  connection.exec(process.argv[2]);
  process.stdout.write('ready');
  process.stdin.on('end', () => connection.close()).resume();
`;

/**
 * Starts a program that opens the database file `path`, runs `statements` such as `BEGIN
 * IMMEDIATE`, and leaves the connection open.
 */
export async function startForeignProgram(
  path: string,
  statements: string,
): Promise<ForeignProgram> {
  const child = spawn(process.execPath, ['-e', HOLD, path, statements], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  await Promise.race([
    once(child.stdout, 'data'),
    exited.then(() => Promise.reject(new Error(`${statements} failed`))),
  ]);
  return {
    async release() {
      child.stdin.end();
      await exited;
    },
  };
}

const QUERY = `
  const { DatabaseSync } = require('@photostructure/sqlite');
  const rows = new DatabaseSync(process.argv[1], { readOnly: true }).prepare(process.argv[2]).all();
  process.stdout.write(JSON.stringify(rows));
`;

/** Runs `statement` on the database file `path` in another program and returns the rows. */
export function queryByAnotherProgram(path: string, statement: string): unknown[] {
  const { status, stdout, stderr } = spawnSync(process.execPath, ['-e', QUERY, path, statement], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  return JSON.parse(stdout) as unknown[];
}

const OPEN = `
  const { once } = require('node:events');
  import(process.argv[1]).then(async ({ openSqlite }) => {
    process.stdout.write('ready');
    const [path] = await once(process.stdin.setEncoding('utf8'), 'data');
    const ended = once(process.stdin, 'end');
    const database = await openSqlite(path, { committed() {} });
    process.stdout.write('open');
    await ended;
    await database.close();
  }).catch(({ message }) => {
    process.stdout.write(message);
    process.exit(1);
  });
`;

/** A process that can open a database as the service does. */
export interface Opener {
  /** Opens the database. Returns `open`, or the message of the error. */
  open(path: string): Promise<string>;
  /** Closes the database and waits for the process to exit. */
  close(): Promise<void>;
}

export async function startOpener(): Promise<Opener> {
  const child = spawn(process.execPath, ['-e', OPEN, join(PROGRAM, '../open-sqlite.js')], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  child.stdout.setEncoding('utf8');
  await once(child.stdout, 'data');
  return {
    async open(path) {
      child.stdin.write(path);
      const [outcome] = (await once(child.stdout, 'data')) as [string];
      return outcome;
    },
    async close() {
      child.stdin.end();
      await exited;
    },
  };
}
