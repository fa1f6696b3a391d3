import { matrixOf } from '../../access/access.ts';
import { canonicalKey } from '../../formats/key.ts';
import { tsigkey } from '../../resources/tsigkey.ts';
import { comparisonForm } from '../../core/text/dns-name.ts';
import { counted } from '../../core/text/counted.ts';
import { defineCommand } from '../../cli/flags/command.ts';
import { observe } from './plan.ts';
import { CommandError, EXIT } from '../../cli/output/command-error.ts';
import { call, type Connection } from '../../cli/service/client.ts';
import { listItems, withoutSecrets } from '../../cli/service/resource-requests.ts';
import type { EditableFiles } from './editable-files.ts';
import {
  parsed,
  parsing,
  perform,
  propose,
  releasedPath,
  reportKept,
} from './configuration-edits.ts';
import { assertSame, EDITING, print, start, type LoadOpener, type Run } from './server-run.ts';

export const release = (load: LoadOpener) =>
  defineCommand({
    name: 'release',
    description:
      'give the keys of a nameserver back to its operator: they and their rights stay on it, in a file that Tsigil no longer changes',
    summary: 'give the keys of a nameserver back to its operator',
    ...EDITING,
    examples: ['tsigil nameserver release ns1', 'tsigil nameserver release ns1 --write'],
    async run(command) {
      const run = await start(command, load);
      const { files, server, terminal } = run;
      const isWriting = command.flags.write === true;
      const confirmed = () => command.confirm(`Release '${server.name}'?`);
      const moved = files && (await moveBack(run, files, isWriting, confirmed));
      if (moved === 'proposed') {
        print('Nothing was written. Run the command again with --write.', terminal);
        return;
      }
      if (files === undefined && !isWriting) {
        print('Nothing was changed. Run the command again with --write: the keys stay.', terminal);
        return;
      }
      if (files === undefined) await confirmed();
      await releaseInService(run);
      print(`Released: Tsigil no longer changes the keys of '${server.name}'.`, terminal);
      if (files !== undefined) await reportKept(files, terminal);
    },
  });

/**
 * Proposes a file of the operator with the keys of Tsigil's file, and with `isWriting` includes it
 * instead. Does nothing if that is done. Throws `CommandError`.
 */
async function moveBack(
  run: Run,
  files: EditableFiles,
  isWriting: boolean,
  confirmed: () => Promise<void>,
): Promise<'done' | 'proposed'> {
  const { connection, server, terminal } = run;
  const { format, own, source } = files;
  const included = { path: releasedPath(own), text: files.plain };
  const { keys, configuration } = parsed(format, source);
  const edits = parsing(() => files.includeEdits(own.path, included.path));
  if (edits.length === 0) {
    if (parsing(() => files.includeEdits(included.path, own.path)).length > 0) return 'done';
    throw new CommandError(
      EXIT.refused,
      `The configuration of '${server.name}' does not include '${own.path}', so there is nothing to release`,
    );
  }
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
    `'${included.path}' gets ${counted(moved.length, 'key')}, which Tsigil no longer changes.`,
    terminal,
  );
  if (!isWriting) return 'proposed';
  const before = await observe(server.address, observed, terminal.now);
  await confirmed();
  await files.editor.create(included);
  await perform(run, files, change, () => assertSame(run, observed, before));
  return 'done';
}

async function releaseInService({ connection, files, path, server }: Run): Promise<void> {
  await call(connection, 'POST', `${path}/release`, {}).catch((cause: unknown) => {
    if (!(cause instanceof CommandError) || files === undefined) throw cause;
    throw new CommandError(
      cause.exitCode,
      `The files of '${server.name}' are changed, but the service did not release it: ${cause.message}`,
      'Run the command again.',
      cause,
    );
  });
}

async function keyIds(connection: Connection): Promise<ReadonlyMap<string, string>> {
  const items = await listItems(withoutSecrets(connection), tsigkey, []);
  return new Map(items.map(({ id, name }) => [comparisonForm(String(name)), String(id)]));
}
