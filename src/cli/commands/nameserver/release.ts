import type { Command } from 'commander';
import { matrixOf } from '../../../domain/access/access.ts';
import { canonicalKey } from '../../../domain/key-formats/key.ts';
import { tsigkey } from '../../../domain/resources/tsigkey.ts';
import { comparisonForm } from '../../../domain/text/dns-name.ts';
import { withConnectionFlags } from '../../flags/flags.ts';
import { addExamples } from '../../flags/help.ts';
import { observe } from '../../imports/adoption.ts';
import { CommandError, EXIT } from '../../output/command-error.ts';
import { declareDestructive } from '../../output/confirmation.ts';
import type { Terminal } from '../../output/terminal.ts';
import { call, type Connection } from '../../service/client.ts';
import { listItems, withoutSecrets } from '../../service/resource-requests.ts';
import type { LocalServers } from '../../service/running-server.ts';
import {
  parsed,
  parsing,
  perform,
  propose,
  releasedPath,
  reportKept,
} from './configuration-edits.ts';
import {
  assertSame,
  keysText,
  print,
  start,
  withRunFlags,
  type Run,
  type RunFlags,
} from './server-run.ts';

/** Adds the command that gives keys back to the configuration of a server. */
export function addRelease(
  parent: Command,
  local: () => Promise<LocalServers>,
  terminal: Terminal,
): void {
  const release = withRunFlags(
    parent
      .command('release')
      .description(
        'give the keys of a nameserver back to its operator: they and their rights stay on it, in a file that Tsigil no longer changes',
      )
      .summary('give the keys of a nameserver back to its operator'),
  );
  const confirmRelease = declareDestructive(release, 'before --write edits the configuration');
  release.action(async (given: string, flags: RunFlags) => {
    const run = await start(given, flags, local, terminal);
    await releaseServer(run, flags, () =>
      confirmRelease(`Release '${run.server.name}'?`, flags, terminal),
    );
  });
  addExamples(withConnectionFlags(release), [
    'tsigil nameserver release ns1',
    'tsigil nameserver release ns1 --write',
  ]);
}

async function releaseServer(
  run: Run,
  flags: RunFlags,
  confirmed: () => Promise<void>,
): Promise<void> {
  const { connection, path, server, files, terminal } = run;
  if (files !== undefined) {
    const { format, own, source } = files;
    const { keys, configuration } = parsed(format, source);
    const included = { path: releasedPath(own), text: files.plain };
    const edits = parsing(() => files.includeEdits(own.path, included.path));
    if (edits.length > 0) {
      const ids = await keyIds(connection);
      const moved = keys.flatMap(({ found }) => {
        if (!('key' in found) || found.file?.path !== own.path) return [];
        const key = canonicalKey(found.key);
        return [{ ...key, id: ids.get(key.name) }];
      });
      const names = new Set(moved.map((key) => key.name));
      const rows = matrixOf(configuration).rows.filter(({ key }) => names.has(key));
      const observed = { keys: moved, rows, zones: configuration.zones.map((zone) => zone.name) };
      const change = { edits, included };
      await propose(files, change, observed, terminal);
      print(
        `'${included.path}' gets ${keysText(moved.length)}, which Tsigil no longer changes.`,
        terminal,
      );
      if (flags.write !== true) {
        print('Nothing was written. Run the command again with --write.', terminal);
        return;
      }
      const before = await observe(server.address, observed, terminal.now);
      await confirmed();
      await files.create(included);
      await perform(run, files, change, () => assertSame(run, observed, before));
    } else if (parsing(() => files.includeEdits(included.path, own.path)).length === 0)
      throw new CommandError(
        EXIT.refused,
        `The configuration of '${server.name}' does not include '${own.path}', so there is nothing to release`,
      );
  } else if (flags.write === true) await confirmed();
  else {
    print('Nothing was changed. Run the command again with --write: the keys stay.', terminal);
    return;
  }
  await call(connection, 'POST', `${path}/release`, {}).catch((cause: unknown) => {
    if (!(cause instanceof CommandError) || files === undefined) throw cause;
    throw new CommandError(
      cause.exitCode,
      `The files of '${server.name}' are changed, but the service did not release it: ${cause.message}`,
      'Run the command again.',
      cause,
    );
  });
  print(`Released: Tsigil no longer changes the keys of '${server.name}'.`, terminal);
  if (files !== undefined) await reportKept(files, terminal);
}

/** Returns the ids of the keys in the service, by their names in comparison form. */
async function keyIds(connection: Connection): Promise<ReadonlyMap<string, string>> {
  const items = await listItems(withoutSecrets(connection), tsigkey, []);
  return new Map(items.map(({ id, name }) => [comparisonForm(String(name)), String(id)]));
}
