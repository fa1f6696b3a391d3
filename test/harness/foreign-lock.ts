import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Another program that has a SQLite database open. */
export interface ForeignProgram {
  /** Closes the database and waits for the program to exit. */
  release(): Promise<void>;
}

const SOURCE = `
  const { DatabaseSync } = require('@photostructure/sqlite');
  const connection = new DatabaseSync(process.argv[1]);
  connection.exec(process.argv[2]);
  process.stdout.write('ready');
  process.stdin.on('end', () => connection.close()).resume();
`;

/** Starts a program that opens the database file `path`, runs `statements` such as `BEGIN IMMEDIATE`, and leaves the connection open. */
export async function startForeignProgram(path: string, statements: string): Promise<ForeignProgram> {
  const child = spawn(process.execPath, ['-e', SOURCE, path, statements], { stdio: ['pipe', 'pipe', 'inherit'] });
  const exited = once(child, 'exit');
  await Promise.race([once(child.stdout, 'data'), exited.then(() => Promise.reject(new Error(`${statements} failed`)))]);
  return {
    async release() {
      child.stdin.end();
      await exited;
    },
  };
}
