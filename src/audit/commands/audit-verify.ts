import { TRAIL_EVENTS, type TrailEvent } from '../chain.ts';
import type { TrailProblem, TrailVerification } from '../responses.ts';
import { MAX_LIMIT } from '../../core/settings.ts';
import { counted } from '../../core/text/counted.ts';
import { firstOf } from '../../core/text/first-of.ts';
import { BATCH_PAGE, VERIFICATION } from '../responses.ts';
import { defineCommand } from '../../cli/flags/command.ts';
import { text } from '../../cli/flags/flag.ts';
import { CommandError, EXIT } from '../../cli/output/command-error.ts';
import { plainText } from '../../cli/output/plain-text.ts';
import { startProgress } from '../../cli/output/progress.ts';
import type { Terminal } from '../../cli/output/terminal.ts';
import { callFor, callForLines, type Connection } from '../../cli/service/client.ts';
import { pagesOf } from '../../cli/service/resource-requests.ts';
import { readCheckpoints, type Checkpoints } from './checkpoints.ts';

type Verified = Required<TrailVerification>;

interface Compared {
  readonly matching: number;
  readonly problems: readonly TrailProblem[];
  /** The checkpoints that a restore took back, by the restore. */
  readonly rolledBack: ReadonlyMap<TrailEvent, number>;
}

const BATCHES_PATH = '/v2/audit/batches';

const MAX_PRINTED = 20;

export const auditVerify = defineCommand({
  name: 'verify',
  description:
    'check that no audit record was changed, deleted or inserted; exit with 1 if the check fails, and with 5 if something could not be checked',
  flags: {
    checkpoints: text(
      '<file>',
      'compare batches with the checkpoints in this file: a log file of the service, or lines with a batch number and a hash',
    ),
  },
  examples: [
    'tsigil audit verify',
    'tsigil audit verify --checkpoints /var/log/tsigil.log  # also detect that the newest batches were deleted or replaced',
  ],
  async run({ connect, flags: { checkpoints: file }, terminal }) {
    const checkpoints = file === undefined ? undefined : await readCheckpoints(file);
    const connection = await connect();
    const result = await verifyAll(connection, terminal);
    const compared =
      checkpoints && (await compareCheckpoints(connection, checkpoints, result.head.events));
    report(result, compared, checkpoints?.size ?? 0, terminal);
  },
});

async function verifyAll(connection: Connection, terminal: Terminal): Promise<Verified> {
  // Only the line about progress needs the number, and a damaged batch must not prevent the verification.
  const total = await callFor(BATCH_PAGE, connection, 'GET', `${BATCHES_PATH}?limit=1`).then(
    ({ batches: [last] }) => last?.number ?? 0,
    () => 0,
  );
  const progress = startProgress(terminal.err, total, terminal.now);
  const sum = { batches: 0, records: 0, purged: 0, without_mac: 0, unchecked: 0 };
  const problems: TrailProblem[] = [];
  let head: TrailVerification['head'];
  try {
    for await (const parts of callForLines(VERIFICATION, connection, '/v2/audit/verify'))
      for (const part of parts) {
        for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += part[name];
        problems.push(...part.problems);
        head = part.head;
        progress.advance(part.batches);
      }
  } finally {
    progress.stop();
  }
  if (head === undefined)
    throw new CommandError(
      EXIT.unreachable,
      `The response of '${connection.url}' is incomplete`,
      'Run the command again.',
    );
  return { ...sum, problems, head };
}

/** A checkpoint that differs is a problem, unless a restore replaced the end of the trail there. */
async function compareCheckpoints(
  connection: Connection,
  checkpoints: Checkpoints,
  events: readonly TrailEvent[],
): Promise<Compared> {
  const problems: TrailProblem[] = [];
  const rolledBack = new Map<TrailEvent, number>();
  const compare = (number: number, hashes: ReadonlySet<string>, hash: string | undefined) => {
    const others = [...hashes].filter((each) => each !== hash);
    if (others.length === 0) return;
    const restore = events.find(
      ({ batch, replaced }) => number > batch && number <= (replaced?.number ?? 0),
    );
    if (restore !== undefined) rolledBack.set(restore, (rolledBack.get(restore) ?? 0) + 1);
    else
      problems.push({
        batch: number,
        problem:
          hash === undefined
            ? 'A checkpoint names this batch, but the trail does not contain it.'
            : 'The hash differs from the checkpoint.',
      });
  };
  const left = new Map(checkpoints);
  const all = [['sort_dir', 'asc'] as const, ['limit', String(MAX_LIMIT)] as const];
  for await (const { batches } of pagesOf(BATCH_PAGE, connection, BATCHES_PATH, all)) {
    for (const { number, hash } of batches) {
      const hashes = left.get(number);
      left.delete(number);
      if (hashes !== undefined) compare(number, hashes, hash);
    }
    if (left.size === 0) break;
  }
  for (const [number, hashes] of left) compare(number, hashes, undefined);
  const rolled = [...rolledBack.values()].reduce((sum, count) => sum + count, 0);
  return { matching: checkpoints.size - problems.length - rolled, problems, rolledBack };
}

/** Prints the result. Throws `CommandError` if there is a problem, or if something is unproven. */
function report(
  result: Verified,
  compared: Compared | undefined,
  checkpoints: number,
  { out }: Terminal,
): void {
  const problems = [...result.problems, ...(compared?.problems ?? [])].toSorted(
    (one, other) => (one.batch ?? Infinity) - (other.batch ?? Infinity),
  );
  const notes = [
    ...firstOf(
      problems,
      MAX_PRINTED,
      ({ batch, problem }) => (batch === null ? problem : `Batch ${batch}: ${problem}`),
      'problems',
    ),
    `${counted(result.records, 'record')} in ${counted(result.batches, 'batch', 'batches')} verified`,
    ...(result.purged > 0 ? [`Retention deleted the records of ${result.purged} batches`] : []),
    ...(result.without_mac > 0
      ? [
          `${result.without_mac} batches have no MAC, because secrets were not encrypted when the service sealed these batches`,
        ]
      : []),
    ...result.head.events.flatMap((event) => {
      const { result: kind, text } = TRAIL_EVENTS[event.event];
      return kind === 'problem' ? [] : [`Batch ${event.batch}, ${event.at}: ${text}`];
    }),
    ...[...(compared?.rolledBack ?? [])].map(
      ([{ at }, count]) => `${count} checkpoints were rolled back by the restore of ${at}`,
    ),
    ...(compared === undefined ? [] : [`${compared.matching} of ${checkpoints} checkpoints match`]),
  ];
  out.write(notes.map((note) => `${plainText(note)}\n`).join(''));
  const [first] = problems;
  if (first !== undefined)
    throw new CommandError(
      EXIT.refused,
      first.batch === null
        ? first.problem.replace(/\.$/, '')
        : `The audit trail was changed. The first bad batch is ${first.batch}`,
      first.batch === null
        ? 'Compare the trail with an export or a backup. For unsealed records, search the log of the service for errors.'
        : 'Compare the trail with an export or a backup from before the change.',
    );
  if (result.unchecked > 0)
    throw new CommandError(
      EXIT.unchecked,
      'No problem was found, but a part of the audit trail could not be checked, because a key was lost',
      'Compare the trail with the checkpoints in the log: tsigil audit verify --checkpoints FILE',
    );
}
