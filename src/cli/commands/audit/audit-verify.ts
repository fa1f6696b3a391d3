import type { Command } from 'commander';
import type { ValueOf } from '../../../domain/model/field.ts';
import { MAX_LIMIT } from '../../../domain/model/settings.ts';
import { VERIFICATION } from '../../../domain/operations/audit-responses.ts';
import { connect, withConnectionFlags } from '../../flags/flags.ts';
import { addExamples } from '../../flags/help.ts';
import { CommandError, EXIT } from '../../output/errors.ts';
import { plainText } from '../../output/plain-text.ts';
import { startProgress } from '../../output/progress.ts';
import type { Terminal } from '../../output/terminal.ts';
import { callFor, type Connection } from '../../service/client.ts';
import type { ConnectionFlags } from '../../service/connection.ts';
import { getBatches, getLastBatch } from './audit-requests.ts';
import { readCheckpoints, type Checkpoints } from './checkpoints.ts';

/** The result of the verification of the trail, or of a part of it. */
type Verification = ValueOf<typeof VERIFICATION>;

type Problem = Verification['problems'] extends Iterable<infer P> ? P : never;

/** The maximum number of problems to print. */
const MAX_PRINTED = 20;

/** Adds the command that verifies the trail. */
export function addVerify(parent: Command, terminal: Terminal): void {
  const command = parent
    .command('verify')
    .description(
      'check that no audit record was changed, deleted or inserted; exit with 1 if the check fails',
    )
    .option(
      '--checkpoints <file>',
      'compare batches with the checkpoints in this file: a log file of the service, or lines with a batch number and a hash',
    );
  withConnectionFlags(command).action(
    async (flags: ConnectionFlags & { readonly checkpoints?: string }) => {
      const { checkpoints: file } = flags;
      const checkpoints = file === undefined ? undefined : await readCheckpoints(file);
      const connection = await connect(flags, terminal);
      const result = await verifyAll(connection, terminal);
      const differing =
        checkpoints === undefined ? [] : await compareCheckpoints(connection, checkpoints);
      report(result, differing, checkpoints, terminal);
    },
  );
  addExamples(command, [
    'tsigil audit verify',
    {
      command: 'tsigil audit verify --checkpoints /var/log/tsigil.log',
      purpose: 'also detect that the newest batches were deleted or replaced',
    },
  ]);
}

/** Verifies the whole trail. The service verifies one part for each request. */
async function verifyAll(connection: Connection, terminal: Terminal): Promise<Verification> {
  const total = (await getLastBatch(connection))?.number ?? 0;
  const progress = startProgress(terminal.err, 'Verifying', total, terminal.now);
  let result: Verification = {
    batches: 0,
    records: 0,
    purged: 0,
    without_mac: 0,
    unchecked: 0,
    problems: [],
    next: null,
  };
  try {
    do {
      const body = result.next === null ? {} : { from: result.next };
      const part = await callFor(VERIFICATION, connection, 'POST', '/v2/audit/verify', body);
      result = add(result, part);
      progress.advance(part.batches);
    } while (result.next !== null);
  } finally {
    progress.stop();
  }
  return result;
}

function add(one: Verification, other: Verification): Verification {
  return {
    batches: one.batches + other.batches,
    records: one.records + other.records,
    purged: one.purged + other.purged,
    without_mac: one.without_mac + other.without_mac,
    unchecked: one.unchecked + other.unchecked,
    problems: [...one.problems, ...other.problems],
    next: other.next,
  };
}

/** Returns a problem for each batch that is missing or differs from its checkpoint. */
async function compareCheckpoints(
  connection: Connection,
  checkpoints: Checkpoints,
): Promise<Problem[]> {
  const problems: Problem[] = [];
  const left = new Map(checkpoints);
  for (let marker: string | undefined = ''; marker !== undefined && left.size > 0;) {
    const page = await getBatches(connection, [
      ['sort_dir', 'asc'],
      ['limit', String(MAX_LIMIT)],
      ...(marker === '' ? [] : [['marker', marker] as const]),
    ]);
    for (const { number, hash } of page.batches) {
      const hashes = left.get(number);
      left.delete(number);
      if (hashes !== undefined && (hashes.size > 1 || !hashes.has(hash)))
        problems.push({ batch: number, problem: 'The hash differs from the checkpoint.' });
    }
    marker = page.next;
  }
  for (const number of left.keys())
    problems.push({
      batch: number,
      problem: 'A checkpoint names this batch, but the trail does not contain it.',
    });
  return problems;
}

/** Prints the result. Throws `CommandError` if there is a problem. */
function report(
  result: Verification,
  differing: readonly Problem[],
  checkpoints: Checkpoints | undefined,
  { out }: Terminal,
): void {
  const problems = [...result.problems, ...differing].toSorted(
    (one, other) => (one.batch ?? Infinity) - (other.batch ?? Infinity),
  );
  const notes = [
    ...problems
      .slice(0, MAX_PRINTED)
      .map(({ batch, problem }) => (batch === null ? problem : `Batch ${batch}: ${problem}`)),
    ...(problems.length > MAX_PRINTED
      ? [`And ${problems.length - MAX_PRINTED} more problems.`]
      : []),
    `${result.records} records in ${result.batches} batches verified`,
    ...(result.purged > 0
      ? [`Retention deleted the records of ${result.purged} batches; their hashes were verified`]
      : []),
    ...(result.without_mac > 0
      ? [
          `${result.without_mac} batches have no MAC, because secrets were not encrypted when the service sealed these batches`,
        ]
      : []),
    ...(result.unchecked > 0
      ? [`The MACs of ${result.unchecked} batches were not verified, because their key was lost`]
      : []),
    ...(checkpoints === undefined
      ? []
      : [`${checkpoints.size - differing.length} of ${checkpoints.size} checkpoints match`]),
  ];
  out.write(notes.map((note) => `${plainText(note)}\n`).join(''));
  const [first] = problems;
  if (first === undefined) return;
  throw new CommandError(
    EXIT.refused,
    first.batch === null
      ? 'Records of the audit trail are not sealed'
      : `The audit trail was changed. The first bad batch is ${first.batch}`,
    first.batch === null
      ? 'Check the log of the service for errors.'
      : 'Compare the trail with an export or a backup from before the change.',
  );
}
