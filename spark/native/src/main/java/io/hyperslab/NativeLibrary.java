package io.hyperslab;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;

/**
 * Loads the native library, once for each class loader, from a private copy: the JVM refuses one file in two class
 * loaders, and a driver has several. A library on {@code java.library.path} wins over the one in the jar. Copies are
 * made in the folder that the system property {@code hyperslab.native.folder} names (else the temporary folder), and
 * are gone as soon as they are loaded.
 */
final class NativeLibrary {
  private static final String NAME = "hyperslab_jni";
  private static final String FOLDER_PROPERTY = "hyperslab.native.folder";

  static {
    loadPrivateCopy();
  }

  private NativeLibrary() {}

  /** Does nothing but make sure that this class is initialised. */
  static void load() {}

  private static void loadPrivateCopy() {
    String parent = System.getProperty(FOLDER_PROPERTY, System.getProperty("java.io.tmpdir"));
    try {
      Files.createDirectories(Paths.get(parent));
      Path folder = Files.createTempDirectory(Paths.get(parent), "hyperslab-");
      Path copy = folder.resolve(System.mapLibraryName(NAME));
      try {
        copyTo(copy);
        System.load(copy.toAbsolutePath().toString());
      } finally {
        Files.deleteIfExists(copy);
        Files.deleteIfExists(folder);
      }
    } catch (IOException error) {
      throw new IllegalStateException(
          "cannot copy the native library to " + parent + ": name another folder with -D"
              + FOLDER_PROPERTY + "=…",
          error);
    }
  }

  private static void copyTo(Path copy) throws IOException {
    String file = System.mapLibraryName(NAME);
    for (String folder : System.getProperty("java.library.path", "").split(File.pathSeparator)) {
      Path candidate = Paths.get(folder.isEmpty() ? "." : folder, file);
      if (Files.isRegularFile(candidate)) {
        Files.copy(candidate, copy, StandardCopyOption.REPLACE_EXISTING);
        return;
      }
    }
    String resource = "native/" + platform() + "/" + file;
    try (InputStream stream = NativeLibrary.class.getResourceAsStream(resource)) {
      if (stream == null) {
        throw new UnsatisfiedLinkError("this jar has no native library for " + platform()
            + ", and java.library.path has none");
      }
      Files.copy(stream, copy, StandardCopyOption.REPLACE_EXISTING);
    }
  }

  private static String platform() {
    String system = System.getProperty("os.name").toLowerCase(java.util.Locale.ROOT);
    String machine = System.getProperty("os.arch");
    String os =
        system.startsWith("mac") ? "macos" : system.startsWith("windows") ? "windows" : "linux";
    return os + "-" + (machine.equals("amd64") ? "x86_64" : machine);
  }
}
