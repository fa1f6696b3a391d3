import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { MIGRATIONS, NEWEST_SCHEMA } from '../../src/sql/migrate.ts';
import { auditRecords, queryDatabase } from '../harness/audit.ts';
import {
  cleanEnvironment,
  PROGRAM,
  startServiceProcess,
  temporaryFolder,
  runTsigil,
} from '../harness/service.ts';
import { startForeignProgram } from '../harness/sqlite-programs.ts';

let folder: string;
beforeEach(() => {
  folder = temporaryFolder();
});

function run(variables: Record<string, string>, ...argv: string[]) {
  const { status, stdout, stderr } = runTsigil(folder, variables, ...argv);
  return { status, stdout, stderr };
}

function copy(from: string, to = 'sqlite:target.db'): ReturnType<typeof run> {
  return run({}, 'copy-database', '--from', from, '--to', to);
}

/**
 * Runs statements in the SQLite database `name` in another process. Creates the database if it does
 * not exist.
 */
async function change(name: string, ...statements: string[]): Promise<void> {
  const program = await startForeignProgram(join(folder, name), statements.join('; '));
  await program.release();
}

/** Copies the database of the killed service, because a copy marks its source. */
function sourceOf(killed: string): string {
  cpSync(killed, join(folder, 'killed'), { recursive: true });
  return `sqlite:${realpathSync(folder)}/killed/source.db`;
}

/** Returns the size of a file, or 0 if it does not exist. */
function sizeOfFile(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}

const LISTED = [
  'tlds: 1',
  'tsigkeys: 0',
  'pools: 1',
  'zones: 0',
  'nameservers: 0',
  'tokens: 1',
  'deliveries: 0',
]
  .map((line) => `${line} copied and compared\n`)
  .join('');

describe('copy-database', () => {
  /** The folder of a killed service. Its database is incomplete without the WAL. */
  let killed: string;
  beforeAll(async () => {
    killed = temporaryFolder();
    const service = await startServiceProcess(killed, {
      TSIGIL_DATABASE_URL: 'sqlite:source.db',
      TSIGIL_ADMIN_TOKEN: '',
    });
    const token = readFileSync(join(killed, 'admin.token'), 'utf8').trim();
    await service.with(token).post('/v2/tlds', { name: 'com' });
    await service.stop('SIGKILL');
  });

  test('exits with 1 and a remedy, and changes nothing, if the source has an older or newer schema', async () => {
    run({ TSIGIL_DATABASE_URL: 'sqlite:source.db' }, 'migrate');
    const expectRefusal = (message: RegExp) => {
      const before = readFileSync(join(folder, 'source.db'));
      expect(copy('sqlite:source.db')).toMatchObject({
        status: 1,
        stdout: '',
        stderr: expect.stringMatching(message) as string,
      });
      expect(readFileSync(join(folder, 'source.db')).equals(before)).toBe(true);
      expect(existsSync(join(folder, 'target.db'))).toBe(false);
    };
    await change(
      'source.db',
      `INSERT INTO schema_migrations (number, applied_at) VALUES (${NEWEST_SCHEMA + 1}, 'now')`,
    );
    expectRefusal(
      /has schema \d+, but this version supports only schemas up to \d+\. Start the newer version, .*\n$/,
    );
    await change('source.db', 'UPDATE schema_migrations SET number = number - 2');
    expectRefusal(
      /The source 'sqlite:source.db' was made by a development version \(schema \d+\), .*\n$/,
    );
  });

  test('copies the last writes of a killed service, and marks its database as copied', async () => {
    const source = sourceOf(killed);
    expect(copy(source)).toEqual({
      status: 0,
      stdout: LISTED,
      stderr: `Created the master key of the target in '${realpathSync(folder)}/master.key'\n`,
    });
    const target = `sqlite:${realpathSync(folder)}/target.db`;
    expect(run({ TSIGIL_DATABASE_URL: source }, 'serve')).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(
        new RegExp(
          `^tsigil: The database '${source}' was copied to '${target}' at .* run: tsigil serve --again\\n$`,
        ),
      ) as string,
    });
  });

  test('refuses to copy a copied source without --again, because the source lacks later changes', () => {
    const source = sourceOf(killed);
    expect(copy(source).status).toBe(0);
    expect(copy(source, 'sqlite:other.db')).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(/was copied to '.*target\.db' at .*, add --again/) as string,
    });
    expect(
      run({}, 'copy-database', '--from', source, '--to', 'sqlite:target.db', '--again'),
    ).toEqual({
      status: 0,
      stdout: LISTED,
      stderr: '',
    });
  });

  test('serve --again makes a copied database an ordinary one, and records it', async () => {
    const source = sourceOf(killed);
    expect(copy(source).status).toBe(0);
    const variables = { TSIGIL_DATABASE_URL: source };
    const again = await startServiceProcess(folder, variables, undefined, ['--again']);
    expect((await again.get('/v2/tlds')).body.tlds).toHaveLength(1);
    await again.stop('SIGTERM');
    const usual = await startServiceProcess(folder, variables);
    await usual.stop('SIGTERM');
    const records = await auditRecords(source);
    expect(records.map(({ action }) => action)).toContain('database:serve-again');
  });

  test('a service does not start on an unfinished copy; the command in the message finishes the copy', async () => {
    const source = `sqlite:${join(folder, 'source.db')}`;
    const full = await startServiceProcess(folder, { TSIGIL_DATABASE_URL: source });
    const tlds = Array.from({ length: 20_000 }, (_, index) => ({ name: `tld-${index}` }));
    expect((await full.post('/v2/tlds/bulk', { tlds })).status).toBe(200);
    await full.stop('SIGTERM');
    const target = `sqlite:${join(realpathSync(folder), 'target.db')}`;
    const child = spawn(
      process.execPath,
      [PROGRAM, 'copy-database', '--from', source, '--to', target],
      {
        cwd: folder,
        env: cleanEnvironment(),
        stdio: 'ignore',
      },
    );
    const exited = once(child, 'exit');
    // The schema is smaller, and the resources are larger.
    await expect
      .poll(() => sizeOfFile(join(folder, 'target.db-wal')), { interval: 1, timeout: 120_000 })
      .toBeGreaterThan(1_000_000);
    child.kill('SIGKILL');
    await exited;
    const { status, stderr } = run({ TSIGIL_DATABASE_URL: target }, 'serve');
    expect([status, stderr]).toEqual([1, expect.stringContaining('is an unfinished copy')]);
    const [, command = ''] = /run: tsigil (.*)\n/.exec(stderr) ?? [];
    expect(run({}, ...command.split(' '))).toMatchObject({
      status: 0,
      stdout: expect.stringContaining('tlds: 20000 copied and compared') as string,
    });
    const [sealed] = await queryDatabase(
      source,
      'SELECT number, hash FROM audit_batches ORDER BY number DESC LIMIT 1',
    );
    const [first] = await auditRecords(target);
    expect(first).toMatchObject({ action: 'database:copy', detail: { trail: sealed } });
    expect(sealed).toBeDefined();
    const served = await startServiceProcess(folder, { TSIGIL_DATABASE_URL: target });
    expect((await served.get('/v2/tlds?name=tld-19999')).body.tlds).toHaveLength(1);
    await served.stop('SIGTERM');
  });
});

describe('migrate', () => {
  const migrate = () => run({ TSIGIL_DATABASE_URL: 'sqlite:tsigil.db' }, 'migrate');
  const last = (note: string) =>
    `The database 'sqlite:tsigil.db' has schema ${NEWEST_SCHEMA}, the newest of this version.${note}\n`;

  test('prints the applied steps, and changes nothing when it runs again', async () => {
    const steps = MIGRATIONS.map(({ number }) => `Applied schema step ${number}\n`).join('');
    expect(migrate()).toEqual({ status: 0, stdout: steps + last(''), stderr: '' });
    expect(migrate()).toEqual({ status: 0, stdout: last(' Nothing was changed.'), stderr: '' });
    const service = await startServiceProcess(folder, { TSIGIL_DATABASE_URL: 'sqlite:tsigil.db' });
    expect((await service.get('/v2/pools')).body.pools).toHaveLength(1);
    expect(migrate()).toMatchObject({
      status: 1,
      stderr: expect.stringContaining('Another process is using the database') as string,
    });
    await service.stop('SIGTERM');
  });
});
