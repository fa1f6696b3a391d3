import { RECORD_FILTERS, type Position, type RecordFilters } from './trail.ts';
import { enumeration, integer, isStorableText, timestamp, type Kind } from '../core/field.ts';
import { MAX_LIMIT } from '../core/settings.ts';
import { EXAMPLE_RECORD } from './responses.ts';

/** The `limit` of a list: 1 to 1000. `max` and larger numbers mean 1000. */
const PAGE_LIMIT: Kind<number> = {
  schema: { type: ['integer', 'string'], minimum: 1, pattern: '^(?:max|[1-9][0-9]*)$' },
  parse(value) {
    const text = String(value).toLowerCase();
    if (text === 'max') return { value: MAX_LIMIT };
    return /^0*[1-9]\d{0,17}$/.test(text)
      ? { value: Math.min(Number(text), MAX_LIMIT) }
      : { problem: `must be an integer from 1 to ${MAX_LIMIT}, or max`, validator: 'type' };
  },
};

const MAX_FILTER = 1000;

/** The value of a filter. In an action, `*` matches any number of characters. */
const FILTER: Kind<string> = {
  schema: { type: 'string', maxLength: MAX_FILTER },
  parse(value) {
    if (typeof value === 'string' && value.length <= MAX_FILTER && isStorableText(value))
      return { value };
    return {
      problem: `must be text without U+0000 of at most ${MAX_FILTER} characters`,
      validator: 'type',
    };
  },
};

const MARKER = /^(\d{1,9})-(\d{1,16})(-unsealed)?$/;

/** A position in the trail: the batch and the `seq` of a record, such as `17-4711`. */
const POSITION: Kind<Position> = {
  schema: { type: 'string', pattern: MARKER.source },
  parse(value) {
    const match = MARKER.exec(String(value));
    if (match === null)
      return {
        problem: "must be the marker in `links.next`, or a record's batch and seq such as 17-4711",
        validator: 'format',
      };
    const [, batch, seq, unsealed] = match;
    return {
      value: {
        batch: Number(batch),
        seq: Number(seq),
        ...(unsealed === undefined ? {} : { unsealed: true }),
      },
    };
  },
};

export function formatPosition({ batch, seq, unsealed = false }: Position): string {
  return `${batch}-${seq}${unsealed ? '-unsealed' : ''}`;
}

function filter(description: string, example: string) {
  return { ...FILTER, description, example, isOptional: true } as const;
}

const LIMIT_PARAMETER = {
  ...PAGE_LIMIT,
  description:
    'The maximum number of items. A page may have fewer items even if another page follows.',
  example: 100,
  isOptional: true,
} as const;

const ORDER = enumeration(['asc', 'desc']);

export const RECORD_PARAMETERS = {
  limit: LIMIT_PARAMETER,
  marker: {
    ...POSITION,
    description:
      'Begin after this position: the marker in `links.next`. With `sort_dir=asc`, the position can also be the `batch` and the `seq` of a record.',
    example: '17-4711',
    isOptional: true,
  },
  sort_dir: {
    ...ORDER,
    description:
      'The order. With `desc`, the default for JSON, the newest records come first, including records that are not sealed yet. With `asc`, the default for JSON lines, the oldest records come first, and only sealed records are listed.',
    example: 'asc',
    isOptional: true,
  },
  actor_id: filter('Only records of the caller with this id.', EXAMPLE_RECORD.actor_id),
  actor_name: filter(
    'Only records of callers with this name, even if the token no longer exists. Ignores case.',
    EXAMPLE_RECORD.actor_name,
  ),
  action: filter(
    'Only records with this action. `*` matches any number of characters.',
    'tsigkeys:*',
  ),
  resource_type: filter('Only records about resources of this collection.', 'tsigkeys'),
  resource_id: filter(
    'Only records about the resource with this id.',
    '5d1c7f1e-93c4-4b43-8f11-5e9f8a2d7c33',
  ),
  resource_name: filter(
    'Only records about resources that had this name at that time, even if they no longer exist. Ignores case and a final dot.',
    EXAMPLE_RECORD.resource_name ?? '',
  ),
  project_id: filter(
    'Only records of callers in this project.',
    '5f2d6a9d0c8a4d8d9d7d0b1f3e7c2a11',
  ),
  outcome: filter('Only records with this outcome: success, denied or failed.', 'denied'),
  request_id: filter('Only records of the request with this id.', EXAMPLE_RECORD.request_id ?? ''),
  after: {
    ...timestamp(),
    description: 'Only records at or after this time.',
    example: '2026-11-21T09:00:00',
    isOptional: true,
  },
  before: {
    ...timestamp(),
    description: 'Only records before this time.',
    example: '2026-11-21T10:00:00',
    isOptional: true,
  },
} as const;

export const BATCH_PARAMETERS = {
  limit: LIMIT_PARAMETER,
  marker: {
    ...integer(1, 2 ** 31 - 1),
    description: 'Begin after the batch with this number.',
    example: 17,
    isOptional: true,
  },
  sort_dir: {
    ...ORDER,
    description:
      'The order. With `desc`, the default, the newest batches come first. With `asc`, the oldest batches come first.',
    example: 'asc',
    isOptional: true,
  },
} as const;

export function filtersOf(
  parameters: Readonly<Partial<Record<keyof RecordFilters, string | undefined>>>,
): RecordFilters {
  const names = [...RECORD_FILTERS, 'after', 'before'] as const;
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = parameters[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
