import { computed, signal } from '@preact/signals';
import type { Faults } from '../delivery/faults.ts';
import { showToast } from './parts/toasts.tsx';
import type { FieldDefinition, ResourceDefinition } from './resources.ts';
import { confirmation, get, lastUse, request, RequestError, refusals } from './requests.ts';
import { BASE } from './router.ts';

export interface Session {
  readonly caller: {
    readonly id: string;
    readonly name: string;
    readonly roles: readonly string[];
    readonly project_id: string | null;
    readonly all_projects: boolean;
  };
  readonly rights: readonly string[];
  readonly expires: { readonly idle_at: string; readonly absolute_at: string };
  readonly idle_seconds: number;
  readonly version: string;
  readonly definitions: Readonly<Record<string, ResourceDefinition>>;
  /** What the codes of failed deliveries mean, and what to do. */
  readonly faults: Faults;
}

/** What the service says to a person who is not signed in. */
export interface Door {
  /** Whose tokens open a session. */
  readonly methods: readonly string[];
  readonly secure: boolean;
  readonly reason?: string;
}

export const session = signal<Session | undefined>(undefined);
export const door = signal<Door | undefined>(undefined);
/** Why the service cannot say who is signed in. */
export const startError = signal<RequestError | undefined>(undefined);
/** Whether the session ended while a page was open. */
export const isExpired = signal(false);

const WARNING_SECONDS = 120;
const PATH = 'console/session';

const now = signal(Date.now());

/** The seconds until the session ends without input. */
export const secondsLeft = computed(() => {
  const { value } = session;
  if (value === undefined) return Infinity;
  const idleEnd = lastUse.value + value.idle_seconds * 1000;
  const end = Math.min(idleEnd, Date.parse(`${value.expires.absolute_at}Z`));
  return Math.max(0, Math.round((end - now.value) / 1000));
});
export const isExpiring = computed(() => secondsLeft.value <= WARNING_SECONDS);

export function may(right: string): boolean {
  return session.value?.rights.includes(right) === true;
}

export function seesAllProjects(): boolean {
  return session.value?.caller.all_projects === true;
}

export function definitionOf(collection: string): ResourceDefinition | undefined {
  return session.value?.definitions[collection];
}

/** Returns the collection to which a field of a resource refers. It may depend on another member. */
export function targetOf({ refers_to: to }: FieldDefinition, resource: object): string | undefined {
  if (to === undefined || typeof to === 'string') return to;
  const targets: Readonly<Record<string, string>> = to;
  const kind = (resource as Readonly<Record<string, unknown>>)[to.by];
  return typeof kind === 'string' ? targets[kind] : undefined;
}

/** Returns what people call one resource of a collection. Several have an `s` at the end. */
export function wordOf(collection: string): string {
  return (definitionOf(collection)?.singular ?? '').replace(/^TSIG /, '');
}

export async function signIn(credentials: Readonly<Record<string, string>>): Promise<void> {
  const started = await get<Session>(PATH, { method: 'POST', body: credentials });
  const before = session.value?.caller;
  const { id, project_id: project } = started.caller;
  const isSame = before === undefined || (before.id === id && before.project_id === project);
  if (isSame) begin(started);
  confirmation.value?.(isSame);
  // A new page has nothing of what the other caller has seen.
  if (!isSame) location.assign(BASE);
}

function begin(started: Session): void {
  session.value = started;
  door.value = undefined;
  startError.value = undefined;
  isExpired.value = false;
}

export async function signOut(): Promise<void> {
  await request(PATH, { method: 'DELETE' });
  location.assign(BASE);
}

/** Whether the link of `tsigil console` that was opened did not work. */
export const isLinkSpent = signal(false);

function codeInAddress(): string | undefined {
  return /^#code=([\w-]+)$/.exec(location.hash)?.[1];
}

/**
 * Signs in with the code in the address, which the link of `tsigil console` has, or reads who is
 * signed in. A link never replaces a session: it may be one of an attacker, who would own the keys
 * that the person then creates.
 */
export async function startSession(): Promise<void> {
  const code = codeInAddress();
  if (code !== undefined) {
    history.replaceState(history.state, '', location.pathname + location.search);
    if (await isSignedIn()) {
      showToast('You were signed in already, so the link was not used.');
      return;
    }
    try {
      await signIn({ method: 'code', code });
      return;
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      isLinkSpent.value = true;
    }
  }
  await readSession();
}

async function isSignedIn(): Promise<boolean> {
  try {
    begin(await get<Session>(PATH));
    return true;
  } catch (error) {
    if (error instanceof RequestError) return false;
    throw error;
  }
}

/** Reads who is signed in, which extends the session unless it happens in the background. */
export async function readSession(isBackground = false): Promise<void> {
  try {
    const body = await get<Session>(PATH, { isBackground });
    // Another tab may have extended the session.
    if (isBackground)
      lastUse.value = Date.parse(`${body.expires.idle_at}Z`) - body.idle_seconds * 1000;
    if (session.value === undefined) begin(body);
    else session.value = body;
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    if (error.status === 401) showDoor(error);
    else if (session.value === undefined) startError.value = error;
  }
}

/** Shows the way in, over the page if the session of a person has ended. */
function showDoor({ body }: RequestError): void {
  door.value = Object.assign({ methods: [], secure: true }, body);
  if (session.value !== undefined) isExpired.value = true;
}

const INPUT_MS = 300_000;

/** Watches the time limit of the session, extends it while a person types, and follows links. */
export function watchSession(): void {
  setInterval(() => {
    now.value = Date.now();
    if (secondsLeft.value === 0 && !isExpired.value && session.value !== undefined)
      void readSession(true);
  }, 1000);
  refusals.subscribe((count) => {
    if (count > 0 && session.value !== undefined && !isExpired.value) void readSession();
  });
  const used = () => {
    if (session.value === undefined || isExpired.value || isExpiring.value) return;
    if (Date.now() - lastUse.value > INPUT_MS) void readSession();
  };
  // A link that is opened in the tab of the console changes only the fragment, and loads nothing.
  addEventListener('hashchange', () => {
    if (codeInAddress() !== undefined) void startSession();
  });
  addEventListener('keydown', used, { passive: true });
  addEventListener('pointerdown', used, { passive: true });
}
