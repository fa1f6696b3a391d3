/**
 * Returns functions to create and end jobs. A job that `job` creates runs until `release` is called
 * with its name. `began` lists the names of the started jobs in order.
 */
export function heldJobs() {
  const began: string[] = [];
  const releases = new Map<string, () => void>();
  const job = (name: string) => () =>
    new Promise<string>((resolve) => {
      began.push(name);
      releases.set(name, () => resolve(name));
    });
  const release = async (name: string) => {
    releases.get(name)?.();
    await new Promise((resume) => setImmediate(resume));
  };
  return { began, job, release };
}
