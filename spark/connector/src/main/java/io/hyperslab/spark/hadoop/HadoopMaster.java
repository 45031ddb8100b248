package io.hyperslab.spark.hadoop;

import io.hyperslab.ConflictException;
import io.hyperslab.CorruptException;
import io.hyperslab.FileVersion;
import io.hyperslab.HyperslabException;
import io.hyperslab.InvalidInputException;
import io.hyperslab.IoException;
import io.hyperslab.NotFoundException;
import io.hyperslab.StagedWrite;
import io.hyperslab.UnsupportedException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.TreeMap;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileContext;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options.Rename;
import org.apache.hadoop.fs.Path;

/**
 * The master of a container on a Hadoop file system, and how a commit replaces it: only if it is still what it was when the
 * write began, so that only one of several concurrent writers succeeds.
 *
 * <p>Where a file appears when its stream is closed (object stores), one put is the commit, under the store's own condition if
 * Hadoop's class has one. Elsewhere the master is written aside and renamed. Before that, its writer claims the present state:
 * it renames a small file, which names the write, to a name made of the state, which only one writer can do. If a writer
 * does not rename its master in time, another writer removes that master, so that it can no longer be renamed, and claims the
 * state under the next number. So neither a clock nor a lock decides which commit is lost.
 */
public final class HadoopMaster {
  /** Name in the folder of a write of the master before it is renamed. */
  static final String ASIDE = "master";

  /** What follows the name of the master in the name of the folder with its subfiles. */
  public static final String CONTAINER_SUFFIX = ".d";

  private static final String CLAIM = "claim-";
  /** Schemes of classes that replace a file by one rename. */
  private static final List<String> ATOMIC_RENAMES = Arrays.asList("hdfs", "viewfs");
  /** Schemes of object stores whose classes do not say {@link HadoopOutput#ABORTABLE}. */
  private static final List<String> STORES = Arrays.asList("s3", "gs", "oss", "cosn", "obs");

  private static final String IF_ABSENT = "fs.option.create.conditional.overwrite";
  private static final String IF_TAG = "fs.option.create.conditional.overwrite.etag";

  /** If a writer has not renamed its master after this time, the next writer takes over its claim. */
  private static final long CLAIM_MILLISECONDS = 20_000;

  private static final long RETRY_MILLISECONDS = 300;
  /** How often a state is asked for that changes meanwhile. */
  private static final int ATTEMPTS = 10;

  /** What is at the address. */
  public static final class State {
    /** Version of the file; null if there is none. */
    final FileVersion version;
    /** The commit that a master names; null for other files. */
    public final String commit;

    State(FileVersion version, String commit) {
      this.version = version;
      this.commit = commit;
    }

    /** Whether there is a file. */
    public boolean exists() {
      return version != null;
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof State
          && Objects.equals(version, ((State) other).version)
          && Objects.equals(commit, ((State) other).commit);
    }

    @Override
    public int hashCode() {
      return Objects.hash(version, commit);
    }

    /** What claims of this state are called. */
    private String claim() {
      if (commit != null) {
        return CLAIM + commit.split(" ")[0] + "-";
      }
      return version == null
          ? CLAIM + "absent-"
          : CLAIM + version.length + "-" + version.modifiedMilliseconds + "-";
    }
  }

  private final HadoopFiles files;
  private final HadoopOutput output;
  private final String address;

  /** The master at an address. */
  public HadoopMaster(HadoopFiles files, String address) {
    this.files = files;
    this.address = address;
    output = new HadoopOutput(files);
  }

  /** Address of the folder with the subfiles of all commits. */
  public String container() {
    return address + CONTAINER_SUFFIX;
  }

  /**
   * What is at the address now.
   *
   * @throws InvalidInputException if it is a folder
   */
  public State state() {
    for (int attempt = 1; attempt <= ATTEMPTS; attempt++) {
      FileVersion before = version();
      if (before == null) {
        return new State(null, null);
      }
      try {
        String commit = commit();
        if (before.equals(version())) {
          return new State(before, commit);
        }
      } catch (NotFoundException | ConflictException error) {
        // It was replaced or removed meanwhile.
      }
    }
    throw new ConflictException(
        "the file changes all the time: try again later", address, null, null);
  }

  private String commit() {
    try {
      return StagedWrite.commitOf(address, files.sessionOptions());
    } catch (CorruptException | InvalidInputException | UnsupportedException error) {
      // It can be replaced, but not added to.
      return null;
    }
  }

  private FileVersion version() {
    return files.run(address, (system, path) -> {
      try {
        FileStatus status = system.getFileStatus(path);
        if (status.isDirectory()) {
          throw new InvalidInputException("this is a folder, not a file", address, null, null);
        }
        return HadoopRanges.versionOf(status);
      } catch (FileNotFoundException error) {
        return null;
      }
    });
  }

  /**
   * After a commit, removes what the state that it has replaced or added to had replaced.
   *
   * @param base the state before the commit
   * @param id identifier of the write
   * @throws HyperslabException if what other masters name is not known
   */
  public void removeSuperseded(State base, String id) {
    if (base.commit != null) {
      HadoopSuperseded.remove(files, address, base.commit, id);
    }
  }

  /** Whether the write with this identifier is visible. */
  public boolean isCommitted(String id) {
    return id.equals(state().commit);
  }

  private ConflictException changed() {
    return new ConflictException(
        "the file has changed since this write began: another process has written it; write again",
        address,
        null,
        null);
  }

  private void check(State base) {
    if (!state().equals(base)) {
      throw changed();
    }
  }

  /**
   * Makes a write visible.
   *
   * @param base the state that it replaces
   * @param master local file
   * @param id identifier of the write, which the master names as its commit
   * @throws ConflictException if another state is there
   * @throws InterruptedException if the thread is interrupted while another writer commits
   */
  public void publish(State base, java.nio.file.Path master, String id)
      throws InterruptedException {
    try {
      if (isStore()) {
        check(base);
        put(base, master);
      } else {
        rename(base, master, id);
      }
    } catch (HyperslabException error) {
      State now;
      try {
        now = state();
      } catch (HyperslabException second) {
        error.addSuppressed(second);
        throw error;
      }
      // An answer may be lost after the file system has done what was asked.
      if (id.equals(now.commit)) {
        settle(base);
        return;
      }
      if (!now.equals(base)) {
        ConflictException conflict = changed();
        conflict.addSuppressed(error);
        throw conflict;
      }
      throw error;
    }
  }

  private boolean isStore() {
    return files.run(
        address,
        (system, path) -> system.hasPathCapability(path, HadoopOutput.ABORTABLE)
            || STORES.contains(path.toUri().getScheme()));
  }

  private void put(State base, java.nio.file.Path master) {
    files.run(address, (system, path) -> {
      FSDataOutputStreamBuilder<?, ?> builder = system.createFile(path).recursive();
      builder.overwrite(base.exists());
      String tag = base.exists() ? base.version.tag : null;
      if (!base.exists() && system.hasPathCapability(path, IF_ABSENT)) {
        builder.must(IF_ABSENT, true);
      } else if (tag != null && system.hasPathCapability(path, IF_TAG)) {
        builder.must(IF_TAG, tag);
      }
      HadoopOutput.copy(master, (org.apache.hadoop.fs.FSDataOutputStream) builder.build());
      return null;
    });
  }

  private void rename(State base, java.nio.file.Path master, String id)
      throws InterruptedException {
    String folder = container() + "/" + id;
    output.upload(master, folder + "/" + ASIDE);
    String claim = claim(base, folder, id);
    try {
      check(base);
    } catch (ConflictException error) {
      output.remove(claim);
      throw error;
    }
    move(base, folder);
    settle(base);
  }

  /** Claims a state for this write, and returns the address of the claim. */
  private String claim(State base, String folder, String id) throws InterruptedException {
    String own = folder + "/claim";
    output.put(own, id.getBytes(StandardCharsets.UTF_8));
    int number = 0;
    long since = System.nanoTime();
    while (true) {
      String claim = container() + "/" + base.claim() + number;
      if (output.renameToNew(own, claim)) {
        return claim;
      }
      check(base);
      if (System.nanoTime() - since > CLAIM_MILLISECONDS * 1_000_000) {
        takeOver(claim);
        number++;
        since = System.nanoTime();
      } else {
        Thread.sleep(RETRY_MILLISECONDS);
      }
    }
  }

  /** Removes the master of the writer that has this claim: it may have been killed. Afterwards it cannot commit. */
  private void takeOver(String claim) {
    String owner;
    try {
      owner = new String(files.firstBytes(claim, 64), StandardCharsets.UTF_8);
    } catch (NotFoundException error) {
      throw changed();
    }
    if (!owner.matches("[0-9a-f]{32}")) {
      throw new CorruptException("this is not the claim of a write: remove it", claim, null, null);
    }
    output.remove(container() + "/" + owner + "/" + ASIDE);
  }

  private void move(State base, String folder) {
    files.run(address, (system, path) -> {
      Path aside = new Path(folder, ASIDE);
      try {
        if (ATOMIC_RENAMES.contains(path.toUri().getScheme())) {
          Rename existing = base.exists() ? Rename.OVERWRITE : Rename.NONE;
          FileContext.getFileContext(path.toUri(), system.getConf()).rename(aside, path, existing);
        } else {
          moveInSteps(system, aside, path, base.exists() ? new Path(folder, "replaced") : null);
        }
      } catch (FileNotFoundException error) {
        throw new ConflictException(
            "another process has taken over, because this commit took too long: write again",
            address,
            null,
            null);
      }
      return null;
    });
  }

  /** Renames where no rename replaces a file: for a moment there is none. */
  private void moveInSteps(FileSystem system, Path aside, Path path, Path replaced)
      throws IOException {
    if (!system.exists(aside)) {
      throw new FileNotFoundException(aside.toString());
    }
    Path old = replaced;
    if (old != null && !system.rename(path, old)) {
      // ABFS takes a name that begins with the file's own for one below it.
      old = new Path(path.getParent(), "." + aside.getParent().getName() + "." + path.getName());
      if (!system.rename(path, old)) {
        throw refused();
      }
    }
    boolean isMoved = false;
    try {
      isMoved = system.rename(aside, path);
    } finally {
      if (!isMoved && old != null) {
        system.rename(old, path);
      }
    }
    if (!isMoved) {
      throw refused();
    }
    if (old != null) {
      system.delete(old, false);
    }
  }

  private IoException refused() {
    return new IoException("the file system refuses to rename the file", address, null, null);
  }

  /** Removes the claims of a state that was replaced, the last one first. */
  private void settle(State replaced) {
    try {
      TreeMap<Integer, String> claims = new TreeMap<>();
      for (HadoopEntry member : files.members(container())) {
        String number = member.name.startsWith(replaced.claim())
            ? member.name.substring(replaced.claim().length())
            : "";
        if (number.matches("[0-9]{1,9}")) {
          claims.put(Integer.valueOf(number), member.address);
        }
      }
      claims.descendingMap().values().forEach(output::remove);
    } catch (HyperslabException error) {
      // The write is visible. A claim that is left delays one later write of the same state.
    }
  }
}
