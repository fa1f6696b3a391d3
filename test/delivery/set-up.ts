import { rmSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import type { PassDependencies } from '../../src/delivery/reconciler/pass.ts';
import {
  startReconciler,
  type Reconciler,
  type ReconcilerDependencies,
} from '../../src/delivery/reconciler/reconciler.ts';
import { requestPass } from '../../src/delivery/store/delivery-status.ts';
import { createDeliveryStore } from '../../src/delivery/store/delivery-store.ts';
import { temporaryFolder } from '../harness/service.ts';
import { openDeliveryDatabase, type DeliveryDatabase } from './database.ts';
import { folderServer, type FolderServer } from './folder-driver.ts';

export const POOL = '794ccc2c-d751-44fe-b57f-8894c9f5c842';
export const SERVER = { name: 'ns1', pool_id: POOL, driver: 'bind', address: '192.0.2.53' };

/** A database with one name server, and a driver that writes to a folder. */
export interface FolderDelivery {
  readonly opened: DeliveryDatabase;
  readonly folder: FolderServer;
  /** The id of the name server. */
  readonly server: string;
  close(): Promise<void>;
}

/** Opens a new database and creates the name server `ns1` in it. */
export async function openFolderDelivery(): Promise<FolderDelivery> {
  const opened = await openDeliveryDatabase();
  const folder = folderServer(temporaryFolder());
  return {
    opened,
    folder,
    server: await opened.create('nameservers', SERVER),
    async close() {
      await opened.close();
      rmSync(folder.folder, { recursive: true, force: true });
    },
  };
}

/** Returns the dependencies of a pass for the name server. */
export function passDependencies(
  { opened, folder }: FolderDelivery,
  changes: Partial<PassDependencies> = {},
): PassDependencies {
  return {
    store: createDeliveryStore(opened.database, opened.store, opened.clock),
    driver: folder.driver,
    verify: folder.verify,
    clock: opened.clock,
    random: () => 0.5,
    holder: 'one',
    since: opened.clock(),
    memory: new Map(),
    lastRead: {},
    signal: new AbortController().signal,
    ...changes,
  };
}

/** Requests a pass for the name server, as a caller does. */
export function requestPassOf({ opened, server }: FolderDelivery, confirm = false): Promise<void> {
  return opened.database.write((sql) => requestPass(sql, server, confirm));
}

/** Starts a reconciler that stops at the end of the test. */
export function startFolderReconciler(
  { opened, folder, server }: FolderDelivery,
  changes: Partial<ReconcilerDependencies> = {},
): Reconciler {
  const reconciler = startReconciler({
    store: createDeliveryStore(opened.database, opened.store, opened.clock),
    servers: [{ id: server, driver: folder.driver, minimumIntervalMs: 0 }],
    verify: folder.verify,
    clock: opened.clock,
    random: Math.random,
    holder: 'one',
    since: opened.clock(),
    concurrency: 8,
    observe: () => undefined,
    failed: () => undefined,
    ...changes,
  });
  const stop = opened.store.onAnnounced(() => reconciler.wake());
  onTestFinished(async () => {
    await stop();
    await reconciler.close(AbortSignal.timeout(1000));
  });
  return reconciler;
}
