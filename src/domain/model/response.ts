import {
  perType,
  shownFields,
  type Operation,
  type Resource,
  type ResourceType,
} from './resource.ts';
import type { Settings } from './settings.ts';

type ResponseSettings = Pick<Settings, 'pendingStatus'>;

/**
 * Returns the members in which the response to an operation differs from the stored resource.
 * Returns undefined if no member differs.
 */
export function pendingMembers(
  type: ResourceType,
  operation: Operation,
  { pendingStatus }: ResponseSettings,
): Partial<Resource> | undefined {
  return pendingStatus ? type.pending?.[operation] : undefined;
}

/** Returns the status of the response to an operation. `usual` is the status for most types. */
export function successStatus(
  type: ResourceType,
  operation: Operation,
  settings: ResponseSettings,
  usual: number,
): number {
  const isPending = pendingMembers(type, operation, settings) !== undefined;
  return isPending ? 202 : (type.statuses?.[operation] ?? usual);
}

/** Returns the names of the fields that callers see only with the right from `revealRight`. */
export const secretFields = perType((type): readonly string[] =>
  shownFields(type).filter((name) => type.fields[name]?.secret === true),
);

/** Returns the right to see the secrets of a type, or undefined for a type without secrets. */
export const revealRight = perType((type) =>
  secretFields(type).length > 0 ? `${type.collection}:reveal` : undefined,
);
