package io.hyperslab.spark.hadoop;

import io.hyperslab.InternalException;
import io.hyperslab.InvalidInputException;
import io.hyperslab.NativeFiles;
import io.hyperslab.NotFoundException;
import io.hyperslab.UnsupportedException;
import java.io.ByteArrayOutputStream;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.Serializable;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.BlockLocation;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.security.UserGroupInformation;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.util.SerializableConfiguration;

/**
 * The files of Hadoop's file systems, with the settings of a Spark session. The driver sends it to the executors; the
 * settings, which may have secrets, go by Spark's broadcast and are never printed.
 */
public final class HadoopFiles implements Serializable {
  private static final long serialVersionUID = 1L;

  private static final Pattern SCHEME = Pattern.compile("([a-zA-Z][a-zA-Z0-9+.-]+):.*");
  /** Prefixes of Hadoop's settings of file systems, which are options of a table, too. */
  private static final List<String> SETTINGS = Arrays.asList("fs.", "dfs.", "hadoop.", "ipc.");

  private static final List<String> WEB = Arrays.asList("http", "https");

  /** Settings that are kept for further tables. */
  private static final int MAX_KNOWN = 64;
  /** By settings, user and application. */
  private static final Map<String, HadoopFiles> KNOWN =
      new LinkedHashMap<String, HadoopFiles>(MAX_KNOWN, 0.75f, true) {
        private static final long serialVersionUID = 1L;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, HadoopFiles> eldest) {
          return size() > MAX_KNOWN;
        }
      };

  /** Openers of this process by key. */
  private static final Map<String, HadoopOpener> OPENERS = new HashMap<>();

  /** Names the settings in this application. */
  private final String key;

  private final Broadcast<SerializableConfiguration> settings;

  private HadoopFiles(String key, Broadcast<SerializableConfiguration> settings) {
    this.key = key;
    this.settings = settings;
  }

  /** Whether a path has the scheme of a Hadoop file system: any except {@code file}. */
  public static boolean isRemote(String path) {
    Matcher scheme = SCHEME.matcher(path);
    return scheme.matches() && !scheme.group(1).equalsIgnoreCase("file");
  }

  /** Whether an option is one of Hadoop's settings. */
  public static boolean isSetting(String option) {
    return SETTINGS.stream().anyMatch(option::startsWith);
  }

  /**
   * The file systems with the settings of the active session.
   *
   * @param options further settings, which take precedence, such as {@code fs.s3a.endpoint}
   */
  public static HadoopFiles of(Map<String, String> options) {
    SparkContext context = SparkSession.active().sparkContext();
    Configuration configuration = new Configuration(context.hadoopConfiguration());
    Map<String, String> session = SQLConf.get().settings();
    synchronized (session) {
      session.forEach((name, value) -> {
        if (value != null && !name.startsWith("spark.")) {
          configuration.set(name, value);
        }
      });
    }
    options.forEach(configuration::set);
    String user;
    try {
      user = UserGroupInformation.getCurrentUser().toString();
    } catch (IOException error) {
      throw HadoopErrors.of(error, null, configuration);
    }
    String identity = digest(configuration) + " " + user + " " + context.applicationId();
    synchronized (KNOWN) {
      return KNOWN.computeIfAbsent(identity, unknown -> {
        Broadcast<SerializableConfiguration> settings = JavaSparkContext.fromSparkContext(context)
            .broadcast(new SerializableConfiguration(configuration));
        return new HadoopFiles(UUID.randomUUID().toString(), settings);
      });
    }
  }

  /** What distinguishes settings. Those of Spark itself concern no file system. */
  private static String digest(Configuration configuration) {
    TreeMap<String, String> sorted = new TreeMap<>();
    configuration.forEach(setting -> {
      if (!setting.getKey().startsWith("spark.")) {
        sorted.put(setting.getKey(), setting.getValue());
      }
    });
    try {
      MessageDigest digest = MessageDigest.getInstance("SHA-256");
      byte[] bytes = digest.digest(sorted.toString().getBytes(StandardCharsets.UTF_8));
      return new java.math.BigInteger(1, bytes).toString(16);
    } catch (NoSuchAlgorithmException error) {
      throw new InternalException("this JVM has no SHA-256: " + error.getMessage());
    }
  }

  /** The key of these file systems in session options of the native library, which knows it from now on in this process. */
  public String key() {
    opener();
    return key;
  }

  /** Options of a session of the native library that opens files of these file systems on one thread. */
  public String sessionOptions() {
    return "{\"fileSystems\": \"" + key() + "\", \"threads\": 1, \"format\": \"hdf5\"}";
  }

  /** Runs work with the file system of an address, as the user of the session. */
  <T> T run(String address, HadoopOpener.Work<T> work) {
    return opener().run(address, work);
  }

  private HadoopOpener opener() {
    synchronized (OPENERS) {
      HadoopOpener opener = OPENERS.get(key);
      if (opener == null) {
        opener = new HadoopOpener(settings.value().value());
        NativeFiles.register(key, opener);
        OPENERS.put(key, opener);
      }
      return opener;
    }
  }

  /**
   * The address of a path: with scheme and authority.
   *
   * @throws UnsupportedException if it is of a web server, or no class reads the scheme
   * @throws InvalidInputException if it is not a path of Hadoop, or has a password
   */
  public String address(String path) {
    Matcher scheme = SCHEME.matcher(path);
    if (scheme.matches() && WEB.contains(scheme.group(1).toLowerCase(Locale.ROOT))) {
      throw new UnsupportedException(
          "addresses of web servers are not supported: copy the file",
          path.replaceAll("[?].*", "").replaceAll("//[^/]*@", "//"),
          null,
          null);
    }
    URI uri;
    try {
      uri = new Path(path).toUri();
    } catch (IllegalArgumentException error) {
      throw new InvalidInputException(
          "this is not a path of a Hadoop file system: " + error.getMessage(), path, null, null);
    }
    if (uri.getAuthority() != null && uri.getAuthority().matches("[^@]*:[^@]*@.*")) {
      throw new InvalidInputException(
          "an address has a password: put it into Hadoop's settings instead");
    }
    return opener().run(path, (system, at) -> HadoopEntry.address(system.makeQualified(at)));
  }

  /** The file or folder at an address; null if there is none. */
  public HadoopEntry find(String address) {
    try {
      return opener().run(address, (system, path) -> new HadoopEntry(system.getFileStatus(path)));
    } catch (NotFoundException error) {
      return null;
    }
  }

  /**
   * The members of a folder, each once; none if it vanished. ABFS lists a folder twice if both a blob of its name and blobs below
   * it say that it is there.
   */
  public List<HadoopEntry> members(String folder) {
    return opener().run(folder, (system, path) -> {
      Map<Path, HadoopEntry> members = new LinkedHashMap<>();
      try {
        for (FileStatus status : system.listStatus(path)) {
          members.putIfAbsent(status.getPath(), new HadoopEntry(status));
        }
      } catch (FileNotFoundException gone) {
        members.clear();
      }
      return new ArrayList<>(members.values());
    });
  }

  /** All files below a folder, each once. */
  public List<HadoopEntry> filesBelow(String folder) {
    return opener().run(folder, (system, path) -> {
      Map<Path, HadoopEntry> files = new LinkedHashMap<>();
      RemoteIterator<LocatedFileStatus> found = system.listFiles(path, true);
      while (found.hasNext()) {
        LocatedFileStatus status = found.next();
        files.putIfAbsent(status.getPath(), new HadoopEntry(status));
      }
      return new ArrayList<>(files.values());
    });
  }

  /**
   * The first bytes of a file.
   *
   * @param max their maximum number
   */
  public byte[] firstBytes(String address, int max) {
    return opener().run(address, (system, path) -> {
      try (InputStream stream = system.open(path)) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        byte[] part = new byte[Math.min(max, 1 << 16)];
        for (int more = 0; more >= 0 && bytes.size() < max; ) {
          more = stream.read(part, 0, Math.min(part.length, max - bytes.size()));
          bytes.write(part, 0, Math.max(0, more));
        }
        return bytes.toByteArray();
      }
    });
  }

  /** The blocks of a file with the hosts that store them; none if it vanished. */
  public BlockLocation[] blocks(String address) {
    return opener().run(address, (system, path) -> {
      try {
        FileStatus status = system.getFileStatus(path);
        return system.getFileBlockLocations(status, 0, status.getLen());
      } catch (FileNotFoundException gone) {
        return new BlockLocation[0];
      }
    });
  }

  /** Writes a file, whole, unless it exists. */
  public void write(String address, byte[] content) {
    opener().run(address, (system, path) -> {
      if (!system.exists(path)) {
        try (OutputStream stream = system.create(path, true)) {
          stream.write(content);
        }
      }
      return null;
    });
  }

  /** The URI of an address, with percent-encoding, as Spark's own sources show it. */
  public static String uri(String address) {
    return new Path(address).toUri().toString();
  }
}
